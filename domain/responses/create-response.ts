import { authorize } from '#domain/access/policy.ts';
import type { Context } from '#domain/access/context.ts';
import type { FoundNames } from '#domain/governance/found-names.ts';
import { keepScreened, noteRedaction } from '#domain/governance/keep-screened.ts';
import { screenInput } from '#domain/governance/screen-input.ts';
import { claimKey } from '#domain/idempotency/idempotency.ts';
import { DomainError, notFound } from '#domain/kernel/errors.ts';
import { reach } from '#domain/kernel/failpoint.ts';
import { Model } from '#domain/models/model.entity.ts';
import { SpaceModel } from '#domain/models/space-model.entity.ts';
import { Space } from '#domain/spaces/space.entity.ts';
import { joinChain } from './chain.ts';
import type { CreateResponseInput } from './create-input.ts';
import { currentRecord, publish } from './head.ts';
import { oweGeneration } from './owe-generation.ts';
import { Response } from './response.entity.ts';
import type { ResponseRecord } from './response-record.ts';
import type { ResponseRequest } from './response-request.ts';
import { modelError, settleRequest } from './settle-request.ts';
import { answerApprovals } from './tool-input.ts';

export interface CreateLimits {
  maxActivePerSpace: number;
  retentionSeconds: number;
}

export type Created =
  | { kind: 'created'; record: ResponseRecord; request: ResponseRequest }
  | { kind: 'replayed'; responseId: string };

/**
 * Accepts a response: head, context snapshot, event 0 and the owed workflow start in one transaction. The id
 * is minted by the caller, so that a commit in doubt can be looked up.
 */
export async function createResponse(
  ctx: Context,
  asked: CreateResponseInput,
  options: { responseId: string; limits: CreateLimits; names?: FoundNames | null },
): Promise<Created> {
  authorize(ctx.caller, 'responses.create');
  const { responseId, limits } = options;
  if (asked.idempotency !== null) {
    const winner = await claimKey(ctx, asked.idempotency, responseId);
    if (winner !== responseId) {
      return { kind: 'replayed', responseId: winner };
    }
  }
  const { space, model } = await resolveModel(ctx, asked);
  const screened = await screenInput(ctx, asked, { space, responseId, names: options.names ?? null });
  const { input } = screened;
  const settled = await settleRequest(ctx, input, { space, model });
  noteRedaction(settled, screened);
  settled.request.approved_calls = await answerApprovals(ctx, input, responseId);
  await refuseWhenBusy(ctx, space.id, limits.maxActivePerSpace);
  await ctx.em.execute(
    `with head as (
       insert into responses (tenant_id, id, space_id, principal_id, api_key_id, model_id, model, model_alias,
         previous_response_id, request, fingerprint, governance, metadata, created_at, expires_at)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, date_trunc('milliseconds', now()),
         date_trunc('milliseconds', now()) + make_interval(secs => ?))
       returning tenant_id, id, space_id, principal_id, created_at, expires_at)
     insert into response_ids (tenant_id, id, space_id, principal_id, created_at, expires_at) select * from head`,
    [
      ctx.caller.tenantId,
      responseId,
      space.id,
      ctx.caller.principalId,
      ctx.caller.apiKeyId,
      model.id,
      model.providerModel,
      model.alias,
      input.previousResponseId,
      JSON.stringify(settled.request),
      input.fingerprint,
      JSON.stringify(settled.governance),
      input.metadata === null ? null : JSON.stringify(input.metadata),
      limits.retentionSeconds,
    ],
  );
  const response = await ctx.em.findOneOrFail(Response, { id: responseId });
  await joinChain(ctx, input, { response, contextWindow: model.contextWindow });
  await keepScreened(ctx, response, screened);
  const record = await currentRecord(ctx.em, response);
  await publish(ctx.em, response, [{ type: 'response.created', response: record }]);
  if (response.waitsFor == null) {
    ctx.dispatches.push(await oweGeneration(ctx.em, response));
  } else {
    await publish(ctx.em, response, [{ type: 'response.queued', response: record }]);
  }
  reach('create.before_commit');
  return { kind: 'created', record, request: settled.request };
}

async function resolveModel(
  ctx: Context,
  input: CreateResponseInput,
): Promise<{ space: Space; model: Model }> {
  const space = await ctx.em.findOne(Space, { id: input.spaceId });
  if (space === null) {
    throw notFound('space_not_found');
  }
  const model = await ctx.em.findOne(
    Model,
    input.modelAlias === null ? { id: space.defaultModelId ?? null } : { alias: input.modelAlias },
  );
  const allowed =
    model !== null &&
    model.disabledAt == null &&
    (await ctx.em.count(SpaceModel, { spaceId: space.id, modelId: model.id })) > 0;
  if (model === null || !allowed) {
    throw modelError(input.modelAlias, model !== null);
  }
  return { space, model };
}

export async function refuseWhenBusy(ctx: Context, spaceId: string, limit: number): Promise<void> {
  let active = await ctx.em.count(Response, { spaceId, finishedAt: null });
  if (active >= limit / 2) {
    // Near the limit, requests queue here, so that those which count at once cannot all pass.
    await ctx.em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [`active/${spaceId}`]);
    active = await ctx.em.count(Response, { spaceId, finishedAt: null });
  }
  if (active >= limit) {
    throw new DomainError('too_many_active_responses', 'Too many responses of this space are running.', {
      retryAfter: 1,
    });
  }
}
