import { authorize } from '#domain/access/policy.ts';
import type { Context } from '#domain/access/context.ts';
import type { FoundNames } from '#domain/governance/found-names.ts';
import { keepScreened, noteRedaction } from '#domain/governance/keep-screened.ts';
import { screenInput } from '#domain/governance/screen-input.ts';
import { screenSettled } from '#domain/governance/screen-settled.ts';
import { claimKey } from '#domain/idempotency/idempotency.ts';
import { DomainError, notFound } from '#domain/kernel/errors.ts';
import { reach } from '#domain/kernel/failpoint.ts';
import { Model } from '#domain/models/model.entity.ts';
import { Space } from '#domain/spaces/space.entity.ts';
import { toEntity } from '#domain/persistence/rows.ts';
import { checkGiven, joinChain } from './chain.ts';
import type { CreateResponseInput } from './create-input.ts';
import { toHead } from './head.ts';
import { generationOf } from './owe-generation.ts';
import { Response } from './response.entity.ts';
import { ResponseChange, writeWithin } from './response-change.ts';
import { noUsage, toResponseRecord, type ResponseRecord } from './response-record.ts';
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
  asked: CreateResponseInput,
  options: { responseId: string; limits: CreateLimits; names?: FoundNames | null },
): Promise<Created> {
  authorize(ctx.caller, 'responses.create');
  const { responseId, limits, names = null } = options;
  if (asked.idempotency !== null) {
    const winner = await claimKey(ctx, asked.idempotency, responseId);
    if (winner !== responseId) {
      return { kind: 'replayed', responseId: winner };
    }
  }
  const { space, model, active } = await resolveModel(ctx, asked);
  const screened = await screenInput(ctx, asked, { space, responseId, names });
  const { input } = screened;
  const settled = await settleRequest(ctx, input, { space, model });
  settled.request.approved_calls = await answerApprovals(ctx, input, responseId);
  if (screened.redaction !== null) {
    const { redaction } = screened;
    const { request, found } = screenSettled(ctx, settled.request, { redaction, names });
    settled.request = request;
    screened.found.push(...found);
  }
  noteRedaction(settled, screened);
  await refuseWhenBusy(ctx, space.id, limits, active);
  const [head] = await ctx.em.execute<{ head: object }[]>(
    `with head as (
       insert into responses (tenant_id, id, space_id, principal_id, api_key_id, model_id, model, model_alias,
         previous_response_id, request, fingerprint, governance, metadata, created_at, expires_at)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, date_trunc('milliseconds', now()),
         date_trunc('milliseconds', now()) + make_interval(secs => ?))
       returning *),
     id as (insert into response_ids (tenant_id, id, space_id, principal_id, created_at, expires_at)
       select tenant_id, id, space_id, principal_id, created_at, expires_at from head)
     select to_json(head) as head from head`,
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
  if (head === undefined) {
    throw new Error('The new response was not answered.');
  }
  const change = new ResponseChange(toEntity(Response, head.head));
  const { response } = change;
  await joinChain(ctx, input, change, model.contextWindow);
  await keepScreened(ctx, response, screened);
  const record = toResponseRecord(toHead(response), [], noUsage);
  change.publish([{ type: 'response.created', response: record }]);
  if (response.waitsFor == null) {
    ctx.dispatches.push(change.owe(generationOf(response)));
  } else {
    change.publish([{ type: 'response.queued', response: record }]);
  }
  if ((await writeWithin(ctx.em, change)) !== 'in') {
    throw new Error('The new response was changed by somebody else.');
  }
  await checkGiven(ctx, input, { change, contextWindow: model.contextWindow });
  reach('create.before_commit');
  return { kind: 'created', record, request: settled.request };
}

async function resolveModel(
  ctx: Context,
  { spaceId, modelAlias }: CreateResponseInput,
): Promise<{ space: Space; model: Model; active: Active }> {
  const [found] = await ctx.em.execute<
    {
      space: object;
      model: object | null;
      allowed: boolean;
      active: number;
      active_in_tenant: number;
    }[]
  >('select * from app.read_admission(?, ?, ?)', [ctx.caller.tenantId, spaceId, modelAlias]);
  if (found === undefined) {
    throw notFound('space_not_found');
  }
  const model = found.model === null ? null : toEntity(Model, found.model);
  if (model === null || model.disabledAt != null || !found.allowed) {
    throw modelError(modelAlias, model !== null);
  }
  return {
    space: toEntity(Space, found.space),
    model,
    active: { space: found.active, tenant: found.active_in_tenant },
  };
}

/**
 * @param known how many are running, when that was read just now
 * @throws `too_many_active_responses`
 */
export async function refuseWhenBusy(
  ctx: Context,
  spaceId: string,
  { maxActivePerSpace, maxActivePerTenant = Infinity }: Omit<CreateLimits, 'retentionSeconds'>,
  known?: Active,
): Promise<void> {
  let active = known ?? (await countActive(ctx, spaceId));
  if (active.space >= maxActivePerSpace / 2 || active.tenant >= maxActivePerTenant / 2) {
    // Near a limit, requests queue here, so that those which count at once cannot all pass.
    await ctx.em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
      `active/${ctx.caller.tenantId}`,
    ]);
    active = await countActive(ctx, spaceId);
  }
  for (const { count, ...reached } of [
    { type: 'space' as const, id: spaceId, count: active.space, limit: maxActivePerSpace },
    { type: 'tenant' as const, id: ctx.caller.tenantId, count: active.tenant, limit: maxActivePerTenant },
  ]) {
    if (count >= reached.limit) {
      const message = `Too many responses of this ${reached.type} are running.`;
      throw new DomainError('too_many_active_responses', message, { retryAfter: 1, reached });
    }
  }
}

/** Unfinished responses of a space, and of all spaces of its tenant. */
interface Active {
  space: number;
  tenant: number;
}

async function countActive(ctx: Context, spaceId: string): Promise<Active> {
  const [row] = await ctx.em.execute<Active[]>(
    `select count(*) filter (where space_id = ?)::int as space, count(*)::int as tenant
       from responses where tenant_id = ? and finished_at is null`,
    [spaceId, ctx.caller.tenantId],
  );
  return row ?? { space: 0, tenant: 0 };
}
