import type { DurableStart } from '#domain/foundation/durable/outbox.ts';
import type { WorkflowType } from '#domain/foundation/durable/dispatcher.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { spaceOfEvent, type EventFacts, type LoggedEvent } from './logged-event.ts';
import { coalescingOf, isNotified } from './notified-types.ts';

export const fanOutWorkflowId = (tenantId: string, eventId: string): string =>
  `notify/${tenantId}/${eventId}`;

/** The fan-out of an event that is being written, for the SQL that writes the event and gives it its id. */
export interface FanOutRow {
  outboxId: string;
  workflowType: WorkflowType;
  /** The event's id follows. */
  workflowIdPrefix: string;
  /** The event's id comes in as `eventId`. */
  payload: Record<string, string>;
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
    workflowIdPrefix: fanOutWorkflowId(event.tenantId, ''),
    payload: payloadOf(event),
    coalescingKey: waits === null ? null : `${event.type}/${event.actorId}`,
    delaySeconds: waits ?? 0,
  };
}

/** The fan-out of a logged event as a start of its workflow. */
export function fanOutStart(event: LoggedEvent): DurableStart {
  return {
    tenantId: event.tenantId,
    workflowType: 'fanOutEvent',
    workflowId: fanOutWorkflowId(event.tenantId, event.id),
    payload: { ...payloadOf(event), eventId: event.id },
  };
}

function payloadOf(event: EventFacts & { tenantId: string }): Record<string, string> {
  const spaceId = spaceOfEvent(event);
  return {
    tenantId: event.tenantId,
    eventType: event.type,
    ...(spaceId === null ? {} : { spaceId }),
  };
}
