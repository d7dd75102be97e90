import { authorize } from '#domain/access/policy.ts';
import type { Context } from '#domain/access/context.ts';
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
  /** Of all spaces of the tenant together, so that it cannot take every slot of the workers. */
  maxActivePerTenant?: number;
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
  input: CreateResponseInput,
  options: { responseId: string; limits: CreateLimits },
): Promise<Created> {
  authorize(ctx.caller, 'responses.create');
  const { responseId, limits } = options;
  if (input.idempotency !== null) {
    const winner = await claimKey(ctx, input.idempotency, responseId);
    if (winner !== responseId) {
      return { kind: 'replayed', responseId: winner };
    }
  }
  const { space, model } = await resolveModel(ctx, input);
  const settled = await settleRequest(ctx, input, { space, model });
  settled.request.approved_calls = await answerApprovals(ctx, input, responseId);
  await refuseWhenBusy(ctx, space.id, limits);
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

/** @throws `too_many_active_responses` */
export async function refuseWhenBusy(
  ctx: Context,
  spaceId: string,
  { maxActivePerSpace, maxActivePerTenant = Infinity }: Omit<CreateLimits, 'retentionSeconds'>,
): Promise<void> {
  let active = await countActive(ctx, spaceId);
  if (active.space >= maxActivePerSpace / 2 || active.tenant >= maxActivePerTenant / 2) {
    // Near a limit, requests queue here, so that those which count at once cannot all pass.
    await ctx.em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
      `active/${ctx.caller.tenantId}`,
    ]);
    active = await countActive(ctx, spaceId);
  }
  for (const [place, count, limit] of [
    ['space', active.space, maxActivePerSpace],
    ['tenant', active.tenant, maxActivePerTenant],
  ] as const) {
    if (count >= limit) {
      throw new DomainError('too_many_active_responses', `Too many responses of this ${place} are running.`, {
        retryAfter: 1,
      });
    }
  }
}

async function countActive(ctx: Context, spaceId: string): Promise<{ space: number; tenant: number }> {
  const [row] = await ctx.em.execute<{ space: number; tenant: number }[]>(
    `select count(*) filter (where space_id = ?)::int as space, count(*)::int as tenant
       from responses where tenant_id = ? and finished_at is null`,
    [spaceId, ctx.caller.tenantId],
  );
  return row ?? { space: 0, tenant: 0 };
}
