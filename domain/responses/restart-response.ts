import type { Context } from '#domain/access/context.ts';
import { authorize } from '#domain/access/policy.ts';
import { recordEvent } from '#domain/events/record-event.ts';
import { DomainError } from '#domain/kernel/errors.ts';
import { Model } from '#domain/models/model.entity.ts';
import { SpaceModel } from '#domain/models/space-model.entity.ts';
import { refuseWhenBusy, type CreateLimits } from './create-response.ts';
import { currentRecord, publish } from './head.ts';
import { oweGeneration } from './owe-generation.ts';
import { findOwn } from './response-access.ts';
import { Response } from './response.entity.ts';
import type { ResponseRecord } from './response-record.ts';
import { modelError } from './settle-request.ts';

/**
 * Asks for a failed response once more, as a new response of the caller's: the same request on the same context,
 * with the limits that were settled then. What the failed one had put out is not taken over, and what the
 * caller may no longer use is refused when it is used.
 * @throws `missing_permission`, `response_not_found` and its like, `model_not_allowed`, `invalid_state` unless it
 *   failed, and for one that brought consent to a call
 */
export async function restartResponse(
  ctx: Context,
  input: { responseId: string },
  options: { newId: string; limits: CreateLimits },
): Promise<ResponseRecord> {
  const { caller, em } = ctx;
  const failed = await findOwn(ctx, input.responseId, 'responses.read');
  authorize(caller, 'responses.create');
  // One that failed while it waited for the response before it was never given all of its context.
  if (failed.status !== 'failed' || failed.waitsFor != null) {
    throw new DomainError(
      'invalid_state',
      'Only a failed response that had its whole input can be restarted.',
    );
  }
  // Consent is given once: the failed one may have made the call, and so may an earlier restart.
  if (failed.request.approved_calls.length > 0) {
    throw new DomainError('invalid_state', 'A response that brought an approval cannot be restarted.');
  }
  await requireModel(ctx, failed);
  await refuseWhenBusy(ctx, failed.spaceId, options.limits.maxActivePerSpace);
  await copyHead(ctx, failed.id, options);
  await em.execute(
    `insert into response_context (tenant_id, response_id, position, item_id)
     select tenant_id, ?, position, item_id from response_context where response_id = ?`,
    [options.newId, failed.id],
  );
  const response = await em.findOneOrFail(Response, { id: options.newId });
  const record = await currentRecord(em, response);
  await publish(em, response, [{ type: 'response.created', response: record }]);
  ctx.dispatches.push(await oweGeneration(em, response));
  await recordEvent(em, caller, {
    type: 'space.response_restarted',
    resource: { type: 'response', id: failed.id },
    metadata: { space_id: failed.spaceId, restarted_as: response.id },
  });
  return record;
}

async function copyHead(
  ctx: Context,
  failedId: string,
  { newId, limits }: { newId: string; limits: CreateLimits },
): Promise<void> {
  const { principalId, apiKeyId } = ctx.caller;
  await ctx.em.execute(
    `with head as (
       insert into responses (tenant_id, id, space_id, principal_id, api_key_id, model_id, model, model_alias,
         previous_response_id, chain_depth, request, fingerprint, governance, metadata, created_at, expires_at)
       select tenant_id, ?, space_id, ?, ?, model_id, model, model_alias,
         previous_response_id, chain_depth, request, fingerprint, governance, metadata,
         date_trunc('milliseconds', now()), date_trunc('milliseconds', now()) + make_interval(secs => ?)
       from responses where id = ?
       returning tenant_id, id, space_id, principal_id, created_at, expires_at)
     insert into response_ids (tenant_id, id, space_id, principal_id, created_at, expires_at) select * from head`,
    [newId, principalId, apiKeyId, limits.retentionSeconds, failedId],
  );
}

async function requireModel(ctx: Context, { modelId, modelAlias, spaceId }: Response): Promise<void> {
  const model = await ctx.em.findOneOrFail(Model, { id: modelId });
  const allowed = await ctx.em.count(SpaceModel, { spaceId, modelId });
  if (model.disabledAt != null || allowed === 0) {
    throw modelError(modelAlias, true);
  }
}
