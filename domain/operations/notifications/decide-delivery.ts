import type { EntityManager } from '@mikro-orm/postgresql';
import type { LoggedEvent } from '#domain/foundation/events/logged-event.ts';
import { coalescingOf } from '#domain/foundation/events/notified-types.ts';
import type { Notifiable } from './find-event.ts';
import type { NotificationRule } from './notification-rules.ts';

/**
 * Whether an event notifies anybody, decided in the transaction of the first page of its fan-out. Safe to repeat: a
 * period that this event has claimed stays claimed by it.
 */
export async function isDeliveryDue(em: EntityManager, { event, rule }: Notifiable): Promise<boolean> {
  if (coalescingOf(event.type) !== null) {
    await endCoalescing(em, event);
  }
  const { threshold } = rule;
  if (threshold === undefined) {
    return rule.once === undefined || claimPeriod(em, event, rule.once(event));
  }
  const period = Math.floor(event.createdAt.getTime() / 1_000 / threshold.oncePerSeconds);
  return (
    (await isReached(em, threshold, event)) && claimPeriod(em, event, `${event.actorId}/${String(period)}`)
  );
}

/**
 * Later events get a fan-out of their own. The update waits for transactions that are coalescing their event into
 * this fan-out.
 */
async function endCoalescing(em: EntityManager, { tenantId, id }: LoggedEvent): Promise<void> {
  await em.execute(
    'update fan_outs set coalescing_key = null where tenant_id = ? and event_id = ? and coalescing_key is not null',
    [tenantId, id],
  );
}

/** A tenant can cause any number of events; only the first ones of the period are counted. */
const maxCounted = 10_000;

/**
 * Whether the actor caused `count` events within some window of `withinSeconds` that ends with this event or after
 * it.
 */
async function isReached(
  em: EntityManager,
  { count, withinSeconds }: NonNullable<NotificationRule['threshold']>,
  event: LoggedEvent,
): Promise<boolean> {
  const [row] = await em.execute<{ reached: boolean }[]>(
    `select exists (select from (
         select created_at, lag(created_at, ?) over (order by created_at) as first_at from (
           select created_at from events
            where tenant_id = ? and actor_id = ? and event_type = 'security.permission_denied'
              and created_at > ?::timestamptz - make_interval(secs => ?)
            order by created_at limit ?) counted) windows
        where created_at < first_at + make_interval(secs => ?)) as reached`,
    [
      count - 1,
      event.tenantId,
      event.actorId,
      event.createdAt.toISOString(),
      withinSeconds,
      maxCounted,
      withinSeconds,
    ],
  );
  return row?.reached === true;
}

/** A claim that the previous version wrote has no event id: the first event that claims the period takes it over. */
async function claimPeriod(
  em: EntityManager,
  { tenantId, id, type }: LoggedEvent,
  key: string,
): Promise<boolean> {
  const claimed = await em.execute(
    `insert into notified_periods (tenant_id, key, event_id) values (?, ?, ?)
     on conflict (tenant_id, key) do update set event_id = excluded.event_id
       where coalesce(notified_periods.event_id, excluded.event_id) = excluded.event_id
     returning key`,
    [tenantId, `${type}/${key}`, id],
  );
  return claimed.length > 0;
}
