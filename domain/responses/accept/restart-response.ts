import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { FoundNames } from '#domain/governance/redaction/found-names.ts';
import { inheritEntries, saveScreening, noteRedaction } from './save-screening.ts';
import { demandOf } from '#domain/governance/policy/pii-settings.ts';
import { screenRequest } from './screen-request.ts';
import { Model } from '#domain/capabilities/models/model.entity.ts';
import { SpaceModel } from '#domain/capabilities/models/space-model.entity.ts';
import { requireOffered } from '#domain/capabilities/skills/pin-skill.ts';
import { Space } from '#domain/workspace/spaces/space.entity.ts';
import { returnToThread } from './join-thread.ts';
import { rejectWhenBusy } from './active-limit.ts';
import type { CreateLimits } from './create-response.ts';
import { currentRecord } from '#domain/responses/store/head.ts';
import { generationStart } from '#domain/responses/store/generation-start.ts';
import { findOwn } from '#domain/responses/store/response-access.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { ResponseChange, writeWithin } from '#domain/responses/store/response-change.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { modelError } from './resolve-request.ts';
import { ToolCall } from '#domain/responses/record/tool-call.entity.ts';

/**
 * Repeats a failed response as a new response of the caller: the same request on the same context, with the limits
 * resolved then. The output of the failed one is not copied. Permissions that the caller has lost are refused when
 * they are used. Demands that the space has made since apply.
 * @throws `missing_permission`, `response_not_found` and its like, `model_not_allowed`, `invalid_state` unless it
 * failed and has no approved call that was begun or restarted before; as `returnToThread` does; `NamesNeeded`
 */
export async function restartResponse(
  ctx: Context,
  input: { responseId: string },
  options: { newId: string; limits: CreateLimits; names?: FoundNames | null },
): Promise<ResponseRecord> {
  const { caller, em } = ctx;
  const failed = await findOwn(ctx, input.responseId, 'responses.read');
  authorize(caller, 'responses.create');
  // A response that failed while it was blocked never received its whole context.
  if (failed.status !== 'failed' || !failed.hasWholeContext) {
    throw new DomainError(
      'invalid_state',
      'Only a failed response that had its whole input can be restarted.',
    );
  }
  await requireModel(ctx, failed);
  if (failed.request.skill !== undefined) {
    await requireOffered(ctx, failed.request.skill);
  }
  await applyConsent(ctx, failed, options.newId);
  await rejectWhenBusy(ctx, failed.spaceId, options.limits);
  // After the other locks, in the lock order of a new response.
  if (failed.threadId != null && failed.branchId != null) {
    await returnToThread(ctx, { threadId: failed.threadId, branchId: failed.branchId });
  }
  await copyHead(ctx, failed.id, options);
  await em.execute(
    `insert into response_context (tenant_id, response_id, position, item_id)
     select tenant_id, ?, position, item_id from response_context where response_id = ?`,
    [options.newId, failed.id],
  );
  const response = await em.findOneOrFail(Response, { id: options.newId });
  await saveRedaction(ctx, failed, response, options.names ?? null);
  const record = await currentRecord(em, response);
  const change = new ResponseChange(response);
  change.publish([{ type: 'response.created', response: record }]);
  change.enqueue(generationStart(response));
  if ((await writeWithin(em, change)) !== 'applied') {
    throw new Error('The new response was changed by somebody else.');
  }
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
         previous_response_id, chain_depth, thread_id, branch_id, request, fingerprint, governance, metadata,
         created_at, expires_at)
       select tenant_id, ?, space_id, ?, ?, model_id, model, model_alias,
         previous_response_id, chain_depth, thread_id, branch_id,
         case when request #> '{redaction,holders,0,responseId}' is null then request
           else jsonb_set(request, '{redaction,holders}', jsonb_build_array(
             jsonb_build_object('responseId', ?::text), request #> '{redaction,holders,0}')) end,
         fingerprint,
         governance - 'traced' || coalesce((select '{"traced": true}'::jsonb from spaces s
           where s.tenant_id = responses.tenant_id and s.id = responses.space_id and s.traced), '{}'), metadata,
         date_trunc('milliseconds', now()), date_trunc('milliseconds', now()) + make_interval(secs => ?)
       from responses where id = ?
       returning tenant_id, id, space_id, principal_id, created_at, expires_at)
     insert into response_ids (tenant_id, id, space_id, principal_id, created_at, expires_at) select * from head`,
    [newId, principalId, apiKeyId, newId, limits.retentionSeconds, failedId],
  );
}

/** The redaction mapping outlives the failed response; a request from before the space's demand is screened now. */
async function saveRedaction(
  ctx: Context,
  failed: Response,
  response: Response,
  names: FoundNames | null,
): Promise<void> {
  const { redaction } = failed.request;
  if (redaction !== undefined) {
    await inheritEntries(ctx, redaction, response.id);
    return;
  }
  const space = await ctx.em.findOneOrFail(Space, { id: failed.spaceId });
  const demand = demandOf(space.policy);
  if (demand !== null) {
    const holder = response.threadId == null ? { responseId: response.id } : { threadId: response.threadId };
    const scope = response.threadId ?? response.id;
    const demanded = { ...demand, scope, holders: [holder] };
    const { request, found } = screenRequest(ctx, response.request, { redaction: demanded, names });
    const resolved = { request, governance: { ...response.governance } };
    noteRedaction(resolved, { redaction: demanded, found });
    Object.assign(response, resolved);
    await saveScreening(ctx, response, { redaction: demanded, found, inherited: [] });
  }
}

/** An approval is for one call: it moves to the restarted response, unless the approved call was begun. */
async function applyConsent({ em }: Context, failed: Response, newId: string): Promise<void> {
  const wanted = failed.request.approved_calls.map((call) => call.approval_request_id);
  if (wanted.length === 0) {
    return;
  }
  const begun = await em.count(ToolCall, {
    responseId: failed.id,
    approvalRequestId: wanted,
    status: { $ne: 'planned' },
  });
  const moved =
    begun > 0
      ? []
      : await em.execute(
          `update items set answered_by = ? where answered_by = ?
             and id in (select jsonb_array_elements_text(?::jsonb)) returning id`,
          [newId, failed.id, JSON.stringify(wanted)],
        );
  if (moved.length < wanted.length) {
    throw new DomainError('invalid_state', 'A call that it was given consent for may not be made again.');
  }
}

async function requireModel(ctx: Context, { modelId, modelAlias, spaceId }: Response): Promise<void> {
  const model = await ctx.em.findOneOrFail(Model, { id: modelId });
  const allowed = await ctx.em.count(SpaceModel, { spaceId, modelId });
  if (model.disabledAt != null || allowed === 0) {
    throw modelError(modelAlias, true);
  }
}
