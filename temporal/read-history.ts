import type { Client } from '@temporalio/client';
import type { HistoryPart, HistoryPlace } from '#domain/operations/workflows/workflow-reader.ts';
import { historyToJson } from './history-json.ts';

/** Of one part, as JSON; one event more may exceed it. */
const maxBytes = 2 * 1_048_576;
const maxEvents = 5_000;
/** Events of one answer of Temporal, which hold few bytes each: inputs and results are ids. */
const pageSize = 200;

/**
 * A part of a history. Temporal's own place in it is not given away: it would name the history itself, of whatever
 * workflow. A later part is found by reading from the beginning again, a page at a time.
 */
export async function readHistory(
  client: Client,
  workflowId: string,
  { runId, afterEvent }: HistoryPlace,
  maxPartBytes = maxBytes,
): Promise<HistoryPart> {
  const events: unknown[] = [];
  let last = afterEvent;
  let bytes = 0;
  let nextPageToken: Uint8Array | undefined;
  do {
    const page = await client.workflowService.getWorkflowExecutionHistory({
      namespace: client.options.namespace,
      execution: { workflowId, runId },
      maximumPageSize: pageSize,
      ...(nextPageToken === undefined ? {} : { nextPageToken }),
    });
    const wanted = (page.history?.events ?? []).filter(({ eventId }) => Number(eventId) > afterEvent);
    for (const event of wanted) {
      const [json] = historyToJson({ events: [event] }).events;
      bytes += JSON.stringify(json).length;
      if (events.length > 0 && (bytes > maxPartBytes || events.length >= maxEvents)) {
        return { events, next: { runId, afterEvent: last } };
      }
      events.push(json);
      last = Number(event.eventId);
    }
    nextPageToken = page.nextPageToken?.length ? page.nextPageToken : undefined;
  } while (nextPageToken !== undefined);
  return { events, next: null };
}
