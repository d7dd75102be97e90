import { start, type StartMessage } from '#domain/foundation/durable/messages.ts';
import { workflowIdOf, type InputOf, type WorkflowType } from '#domain/foundation/durable/workflow-types.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { spaceOfEvent, type EventFacts, type LoggedEvent } from './logged-event.ts';
import { coalescingOf, isNotified } from './notified-types.ts';

/** The fan-out of an event, for the SQL that inserts the event and generates its id. */
export interface FanOutRow {
  outboxId: string;
  workflowType: WorkflowType;
  /** Prefix that the event's id completes. */
  workflowIdPrefix: string;
  /** Without `eventId`, which the SQL adds. */
  payload: Omit<InputOf<'fanOutEvent'>, 'eventId'>;
  /** While a fan-out with this key is pending, no other begins. */
  coalescingKey: string | null;
  /** Delay between the event and the start of the workflow. */
  delaySeconds: number;
}

/** The fan-out of an event by its type alone; null for types without notifications. */
export function fanOutOf(event: EventFacts & { tenantId: string; actorId: string | null }): FanOutRow | null {
  if (!isNotified(event.type)) {
    return null;
  }
  const waits = coalescingOf(event.type);
  return {
    outboxId: newId(),
    workflowType: 'fanOutEvent',
    workflowIdPrefix: workflowIdOf('fanOutEvent', { tenantId: event.tenantId, eventId: '' }),
    payload: payloadOf(event),
    coalescingKey: waits === null ? null : `${event.type}/${event.actorId}`,
    delaySeconds: waits ?? 0,
  };
}

/** The start of the fan-out of a logged event. */
export function fanOutStart(event: LoggedEvent): StartMessage {
  return start('fanOutEvent', { ...payloadOf(event), eventId: event.id });
}

function payloadOf(event: EventFacts & { tenantId: string }): FanOutRow['payload'] {
  const spaceId = spaceOfEvent(event);
  return {
    tenantId: event.tenantId,
    eventType: event.type,
    ...(spaceId === null ? {} : { spaceId }),
  };
}
