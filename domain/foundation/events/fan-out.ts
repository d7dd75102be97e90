import { start, type StartMessage } from '#domain/foundation/durable/messages.ts';
import { workflowIdOf, type InputOf, type WorkflowType } from '#domain/foundation/durable/workflow-types.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { spaceOfEvent, type EventFacts, type LoggedEvent } from './logged-event.ts';
import { coalescingOf, isNotified } from './notified-types.ts';

/** The fan-out of an event that is being written, for the SQL that writes the event and gives it its id. */
export interface FanOutRow {
  outboxId: string;
  workflowType: WorkflowType;
  /** The event's id follows. */
  workflowIdPrefix: string;
  /** The event's id comes in as `eventId`. */
  payload: Omit<InputOf<'fanOutEvent'>, 'eventId'>;
  /** While a fan-out with this key waits, no other begins. */
  coalescingKey: string | null;
  /** From the event to the start of the workflow. */
  delaySeconds: number;
}

/** The fan-out of an event by its type alone; null where users are notified of none of its kind. */
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
