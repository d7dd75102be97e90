import type { Context } from '#domain/foundation/access/context.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';

export interface ActiveLimits {
  maxActivePerSpace: number;
  /** Of all spaces of the tenant together, so that one tenant cannot take every slot of the workers. */
  maxActivePerTenant?: number;
}

/** Unfinished responses of a space, and of all spaces of its tenant. */
export interface Active {
  space: number;
  tenant: number;
}

/**
 * Assumed number of responses that end per second while a limit is reached. Clients retry twice and then give up:
 * with many requests ahead of them they must wait longer, or they give up before a slot is free.
 */
const assumedEndsPerSecond = 50;

/** More than a server can hold. */
const unlimited = 2 ** 31 - 1;

/**
 * Counts as part of a statement, always in the same lock order; an admitted response is counted by others once its
 * transaction commits.
 */
export const countActive =
  'select app.count_active(?, ?, ?) as space, app.count_active(?, null, ?) as tenant';

export function countedWith(ctx: Context, spaceId: string, limits: ActiveLimits): (string | number)[] {
  const { tenantId } = ctx.caller;
  const [inSpace, inTenant] = limitsOf(limits);
  return [tenantId, spaceId, inSpace, tenantId, inTenant];
}

export function limitsOf({
  maxActivePerSpace,
  maxActivePerTenant = unlimited,
}: ActiveLimits): [space: number, tenant: number] {
  return [maxActivePerSpace, maxActivePerTenant];
}

/** Names the limit that is reached; the space's if both are. */
export function tooManyActive(
  ctx: Context,
  spaceId: string,
  limits: ActiveLimits,
  active: Active | undefined,
): DomainError {
  const [inSpace, inTenant] = limitsOf(limits);
  const reached =
    active !== undefined && active.space < inSpace
      ? { type: 'tenant' as const, id: ctx.caller.tenantId, limit: inTenant }
      : { type: 'space' as const, id: spaceId, limit: inSpace };
  const message = `Too many responses of this ${reached.type} are running.`;
  const retryAfter = Math.ceil(reached.limit / assumedEndsPerSecond);
  return new DomainError('too_many_active_responses', message, { retryAfter, reached });
}
