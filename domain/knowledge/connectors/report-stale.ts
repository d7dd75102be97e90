import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import { Connector } from './connector.entity.ts';
import { eventOf } from './connector-event.ts';
import { isRunnable } from './connector-status.ts';
import { intervalOf } from './sync-schedule.ts';

/** Intervals of the schedule without a run that ended well, after which people are notified. */
const patience = 3;

/**
 * Records once that a connector has not synchronised for three intervals; the next run that ends well clears that.
 * @returns whether it was recorded now
 */
export async function reportStale(em: EntityManager, connectorId: string): Promise<boolean> {
  const connector = await em.findOne(
    Connector,
    { id: connectorId },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  if (connector === null || !isRunnable(connector.status) || connector.staleNotifiedAt != null) {
    return false;
  }
  const now = await databaseNow(em);
  const interval = intervalOf(connector.syncSchedule ?? null, connector.id, now);
  const since = connector.lastSyncedAt ?? connector.createdAt;
  if (interval === null || now.getTime() - since.getTime() < patience * interval) {
    return false;
  }
  connector.staleNotifiedAt = now;
  await em.flush();
  const { tenantId, principalId } = connector;
  const actor = await rebuildActor(em, { tenantId, principalId });
  const metadata = { last_synced_at: connector.lastSyncedAt?.toISOString() ?? null };
  return recordEvent(
    em,
    actor,
    eventOf('collection.sync_failing', connector, { outcome: 'failure', metadata }),
  );
}
