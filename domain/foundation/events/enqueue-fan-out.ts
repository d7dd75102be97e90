import type { EntityManager } from '@mikro-orm/postgresql';
import { start, type StartMessage } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import { workflowIdOf, type InputOf, type WorkflowType } from '#domain/foundation/durable/workflow-types.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import {
  notificationRules,
  spaceOfEvent,
  type NotificationRule,
  type LoggedEvent,
} from './notification-rules.ts';

/** An event that is being written, with its actor; the database gives it its id. */
export type ToldEvent = Omit<LoggedEvent, 'id'>;

/** The start of an event's fan-out for SQL that writes the event too, and knows its id. */
export interface PendingFanOut {
  outboxId: string;
  workflowType: WorkflowType;
  /** The event's id follows. */
  workflowIdPrefix: string;
  /** The event's id comes in as `eventId`. */
  payload: Omit<InputOf<'fanOutEvent'>, 'eventId'>;
}

/**
 * The fan-out of an event, null where no rule names the event. For SQL that writes event and start together; rules
 * that have to ask the database first are for `enqueueFanOut` alone.
 */
export function fanOutOf(event: ToldEvent): PendingFanOut | null {
  const rule = notificationRules[event.type];
  if (rule === undefined || rule.when?.(event) === false) {
    return null;
  }
  if (rule.once !== undefined || rule.threshold !== undefined) {
    throw new Error(`Whether ${event.type} is told depends on what was told before.`);
  }
  return {
    outboxId: newId(),
    workflowType: 'fanOutEvent',
    workflowIdPrefix: workflowIdOf('fanOutEvent', { tenantId: event.tenantId, eventId: '' }),
    payload: payloadOf(event),
  };
}

/**
 * Enqueues the fan-out of an event, in the transaction that wrote it, if a rule names it. A relay starts it: nobody
 * waits for it, and the change is held up by two small rows at most.
 * @returns whether anybody may be told
 */
export async function enqueueFanOut(em: EntityManager, event: LoggedEvent): Promise<boolean> {
  const rule = notificationRules[event.type];
  if (rule === undefined || rule.when?.(event) === false || !(await isDue(em, rule, event))) {
    return false;
  }
  await em.execute('insert into fan_outs (tenant_id, event_id, event_type) values (?, ?, ?)', [
    event.tenantId,
    event.id,
    event.type,
  ]);
  await enqueue(em, fanOutStart(event));
  return true;
}

/** The start of the fan-out of a logged event. */
export function fanOutStart(event: LoggedEvent): StartMessage {
  return start('fanOutEvent', { ...payloadOf(event), eventId: event.id });
}

function payloadOf(event: ToldEvent): PendingFanOut['payload'] {
  const spaceId = spaceOfEvent(event);
  return {
    tenantId: event.tenantId,
    eventType: event.type,
    ...(spaceId === null ? {} : { spaceId }),
  };
}

async function isDue(em: EntityManager, rule: NotificationRule, event: LoggedEvent): Promise<boolean> {
  if (rule.threshold !== undefined) {
    const { oncePerSeconds } = rule.threshold;
    const period = Math.floor(Date.now() / 1_000 / oncePerSeconds);
    return (
      (await isReached(em, rule.threshold, event)) &&
      claimPeriod(em, event, `${event.type}/${event.actorId}/${period}`)
    );
  }
  return rule.once === undefined || claimPeriod(em, event, `${event.type}/${rule.once(event)}`);
}

/** One after the other per actor: of several at once, each would else miss the others. */
async function isReached(
  em: EntityManager,
  threshold: { count: number; withinSeconds: number },
  event: LoggedEvent,
): Promise<boolean> {
  await em.execute('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
    `denied/${event.tenantId}/${event.actorId}`,
  ]);
  const [row] = await em.execute<{ count: number }[]>(
    `select count(*)::int as count from events
      where tenant_id = ? and actor_id = ? and event_type = 'security.permission_denied'
        and created_at > now() - make_interval(secs => ?)`,
    [event.tenantId, event.actorId, threshold.withinSeconds],
  );
  return (row?.count ?? 0) >= threshold.count;
}

async function claimPeriod(em: EntityManager, { tenantId }: LoggedEvent, key: string): Promise<boolean> {
  const fresh = await em.execute(
    'insert into notified_periods (tenant_id, key) values (?, ?) on conflict do nothing returning key',
    [tenantId, key],
  );
  return fresh.length > 0;
}
