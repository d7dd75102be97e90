import type { AuditEvent } from '#domain/foundation/events/record-event.ts';
import type { Actor } from '#domain/foundation/access/caller.ts';
import { traceStart } from './enqueue-trace.ts';
import { toHead } from '#domain/responses/store/head.ts';
import type { OutputItem } from '#domain/responses/record/output-items.ts';
import type { Ending } from '#domain/responses/record/response-end.ts';
import {
  toResponseRecord,
  type ResponseRecord,
  type UsageSum,
} from '#domain/responses/record/response-record.ts';
import type { TerminalStatus } from '#domain/responses/record/response-status.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import type { ResponseChange } from '#domain/responses/store/response-change.ts';

/** The end of a response and its final content. */
export interface End {
  ending: Ending;
  now: Date;
  /** In order of its places, with what the change adds; see {@link outputWith}. */
  output: readonly OutputItem[];
  usage: UsageSum;
  /** The actor of the end's event. */
  actor: Actor;
  /** The address of the actor, sealed. */
  ip?: string | null;
}

/**
 * Adds the end of a response to its change: status, record, terminal event, audit event, the export of its trace.
 * Every end passes here: of the last turn, by cancel, by limit or by failure.
 */
export function endChange(
  change: ResponseChange,
  { ending, now, output, usage, actor, ip = null }: End,
): void {
  const { response } = change;
  applyEnding(response, now, ending);
  const record = toResponseRecord(toHead(response), [...output], usage);
  response.record = JSON.stringify(record);
  change.publish([{ type: `response.${ending.status}`, response: record }]);
  change.record(actor, auditOf(response, now, record), { ip });
  const trace = traceStart(response);
  if (trace !== null) {
    change.enqueue(trace);
  }
}

/** The final output: the stored items and those that the change adds, by their places. */
export function outputWith(
  stored: readonly { outputIndex?: number | null | undefined; wire: string }[],
  { items }: ResponseChange,
): OutputItem[] {
  return [...stored, ...items.filter(({ supersededBy }) => supersededBy === null)]
    .toSorted((a, b) => (a.outputIndex ?? 0) - (b.outputIndex ?? 0))
    .map(({ wire }) => JSON.parse(wire) as OutputItem);
}

function applyEnding(response: Response, now: Date, ending: Ending): void {
  response.finish(ending.status, now);
  switch (ending.status) {
    case 'incomplete':
      response.incompleteReason = ending.reason;
      break;
    case 'failed':
      response.failure = ending.failure;
      break;
    case 'cancelled':
      response.cancelledBy = ending.by?.principalId ?? null;
      break;
    case 'completed':
  }
}

/** After this time the requester is assumed to have looked away, and is notified of the completion. */
const longResponseMs = 60_000;

/** The event of the end of a response. */
export function auditOf(
  response: Response,
  now: Date,
  { status, usage }: Pick<ResponseRecord, 'status' | 'usage'>,
): AuditEvent {
  const durationMs = now.getTime() - response.createdAt.getTime();
  const asked = response.metadata?.['notify'] === 'true';
  return {
    type: `space.response_${status as TerminalStatus}`,
    resource: { type: 'response', id: response.id },
    outcome: status === 'failed' ? 'failure' : 'success',
    metadata: {
      space_id: response.spaceId,
      reason: response.incompleteReason ?? response.failure?.code ?? null,
      cost_usd: usage.cost_usd,
      duration_ms: durationMs,
      ...(asked ? { notify: true } : {}),
    },
    dedupeKey: `response/${response.id}/finished`,
    notify: status !== 'completed' || asked || durationMs > longResponseMs,
  };
}
