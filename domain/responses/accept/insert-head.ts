import type { Context } from '#domain/foundation/access/context.ts';
import { entityColumns, toEntity } from '#domain/foundation/persistence/rows.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import {
  countActive,
  countedWith,
  limitsOf,
  tooManyActive,
  type Active,
  type ActiveLimits,
} from './active-limit.ts';

export interface CreateLimits extends ActiveLimits {
  retentionSeconds: number;
}

/** What a response is from its beginning; the rest has defaults, or follows in its first change. */
type NewHead = Pick<
  Response,
  | 'id'
  | 'spaceId'
  | 'modelId'
  | 'model'
  | 'modelAlias'
  | 'previousResponseId'
  | 'request'
  | 'fingerprint'
  | 'governance'
  | 'metadata'
>;

/**
 * Inserts the head of a response of the caller, with the row of its id, unless too many run.
 * @throws `too_many_active_responses`
 */
export async function insertHead(ctx: Context, head: NewHead, limits: CreateLimits): Promise<Response> {
  const { tenantId, principalId, apiKeyId } = ctx.caller;
  const row = entityColumns(Response, { tenantId, principalId, apiKeyId, ...head });
  const columns = Object.keys(row).join(', ');
  const [accepted] = await ctx.em.execute<(Active & { head: object | null })[]>(
    `with active as materialized (${countActive}), head as (
       insert into responses (${columns}, created_at, expires_at)
       select ${columns}, date_trunc('milliseconds', now()),
         date_trunc('milliseconds', now()) + make_interval(secs => ?)
       from active, jsonb_populate_record(null::responses, ?::jsonb)
       where active.space < ? and active.tenant < ?
       returning *),
     id as (insert into response_ids (tenant_id, id, space_id, principal_id, created_at, expires_at)
       select tenant_id, id, space_id, principal_id, created_at, expires_at from head)
     select active.space, active.tenant, to_json(head) as head from active left join head on true`,
    [
      ...countedWith(ctx, head.spaceId, limits),
      limits.retentionSeconds,
      JSON.stringify(row),
      ...limitsOf(limits),
    ],
  );
  if (accepted?.head == null) {
    throw tooManyActive(ctx, head.spaceId, limits, accepted);
  }
  return toEntity(Response, accepted.head);
}
