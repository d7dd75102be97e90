import { LRUCache } from 'lru-cache';
import type { Identity, Origin } from '#domain/foundation/access/caller.ts';
import { recordAs } from '#domain/identity/principals/record-as.ts';
import type { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';

/** What this process has recorded within the hour: repeated requests cause no further writes. */
const written = new LRUCache<string, true>({ max: 10_000, ttl: 3_600_000 });

/**
 * Records that a space or the tenant has reached its limit of running responses, once an hour. Its administrators are
 * notified; the requester gets the refusal.
 */
export async function recordLimitReached(
  unitOfWork: UnitOfWork,
  identity: Identity,
  { error, origin }: { error: DomainError; origin: Origin },
): Promise<void> {
  const { reached } = error.detail;
  if (reached === undefined) {
    return;
  }
  const { type, id, limit } = reached;
  const period = new Date().toISOString().slice(0, 13);
  const dedupeKey = `limit/active_responses/${id}/${period}`;
  if (written.has(dedupeKey)) {
    return;
  }
  await recordAs(
    unitOfWork,
    { identity, origin },
    {
      type: type === 'space' ? 'space.limit_reached' : 'system.limit_reached',
      resource: { type, id },
      outcome: 'denied',
      metadata: { limit: 'active_responses', value: limit, period },
      dedupeKey,
    },
  );
  written.set(dedupeKey, true);
}
