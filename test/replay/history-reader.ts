import type { Json } from '../support/stream-events.ts';

/** A history as it is committed: the proto's own JSON form, one document a workflow. */
export interface RecordedHistory {
  events: HistoryEvent[];
}

export type HistoryEvent = Json & { eventType: string };

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Every text that a history shows to its readers: its strings, and its decoded base64. */
export function shownTexts(value: unknown): string[] {
  if (typeof value === 'string') {
    return base64.test(value) ? [value, Buffer.from(value, 'base64').toString('utf8')] : [value];
  }
  if (typeof value !== 'object' || value === null) {
    return [];
  }
  return Object.entries(value).flatMap(([key, member]) => [key, ...shownTexts(member)]);
}

/** The decoded sizes of all payloads, in bytes. */
export function payloadSizes(value: unknown): number[] {
  if (typeof value !== 'object' || value === null) {
    return [];
  }
  const own = 'data' in value && 'metadata' in value && typeof value.data === 'string';
  const size = own ? [Buffer.from(value.data as string, 'base64').length] : [];
  return [...size, ...Object.values(value).flatMap(payloadSizes)];
}

/** A payload's value. */
export function decodePayload(payload: unknown): unknown {
  const { data } = payload as { data: string };
  return JSON.parse(Buffer.from(data, 'base64').toString('utf8'));
}

export interface ScheduledActivity {
  name: string;
  summary: string | null;
  input: Record<string, unknown>;
  /** The completed attempt, from 1; null: none completed. */
  attempt: number | null;
  /** The failure of the attempt before the last one. */
  lastFailure: Json | null;
}

/** The activities of a history in the order in which they were scheduled. */
export function activitiesOf(history: RecordedHistory): ScheduledActivity[] {
  return history.events
    .filter((event) => event.eventType === 'EVENT_TYPE_ACTIVITY_TASK_SCHEDULED')
    .map((event) => {
      const scheduled = event['activityTaskScheduledEventAttributes'] as {
        activityType: { name: string };
        input?: { payloads?: unknown[] };
      };
      const started = history.events
        .map((each) => each['activityTaskStartedEventAttributes'] as Started | undefined)
        .find((each) => each?.scheduledEventId === event['eventId']);
      const summary = (event['userMetadata'] as { summary?: unknown } | undefined)?.summary;
      const [input] = scheduled.input?.payloads ?? [];
      return {
        name: scheduled.activityType.name,
        summary: summary === undefined ? null : String(decodePayload(summary)),
        input: input === undefined ? {} : (decodePayload(input) as Record<string, unknown>),
        attempt: started?.attempt ?? null,
        lastFailure: started?.lastFailure ?? null,
      };
    });
}

interface Started {
  scheduledEventId: unknown;
  attempt: number;
  lastFailure?: Json;
}

/** The content of a run's first event. */
export function startOf(history: RecordedHistory): {
  workflowId: string;
  type: string;
  taskQueue: string;
  summary: string | null;
  searchAttributes: Record<string, unknown>;
  memo: unknown;
} {
  const [first] = history.events;
  const started = first?.['workflowExecutionStartedEventAttributes'] as {
    workflowId: string;
    workflowType: { name: string };
    taskQueue: { name: string };
    searchAttributes?: { indexedFields?: Record<string, unknown> };
    memo?: unknown;
  };
  const summary = (first?.['userMetadata'] as { summary?: unknown } | undefined)?.summary;
  const fields = Object.entries(started.searchAttributes?.indexedFields ?? {});
  return {
    workflowId: started.workflowId,
    type: started.workflowType.name,
    taskQueue: started.taskQueue.name,
    summary: summary === undefined ? null : String(decodePayload(summary)),
    searchAttributes: Object.fromEntries(fields.map(([name, payload]) => [name, decodePayload(payload)])),
    memo: started.memo ?? null,
  };
}

export function eventTypes(history: RecordedHistory): string[] {
  return history.events.map((event) => event.eventType.replace('EVENT_TYPE_', ''));
}
