import type { Caller, Identity } from '#domain/foundation/access/caller.ts';
import { admit } from '#domain/foundation/access/policy.ts';
import { readerOf, type Reader } from '#domain/conversations/threads/show-restored.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { callItem } from '#domain/responses/store/call-items.ts';
import { foldTurn, toItem } from '#domain/responses/store/open-item.ts';
import type { OutputItem } from '#domain/responses/record/output-items.ts';
import { authorizeResponse, goneError } from '#domain/responses/store/response-access.ts';
import { noUsage, toResponseRecord, type ResponseRecord } from '#domain/responses/record/response-record.ts';
import type { ResponseRow, ResponseRows, RowAddress } from '#domain/responses/store/response-rows.ts';

export interface ReadResponse {
  readonly record: ResponseRecord;
  /** The record as JSON, once the response has ended: the same text as in its last event. */
  readonly finished: string | null;
  /** Sequence number of the next stream event. */
  nextN: number;
  /** By the database's clock. */
  expiresInMs: number;
  /** The reader with its permissions in the space. */
  caller: Caller;
  /** Whose redacted values this reader may see, as far as its roles in the space decide. */
  reader: Reader;
}

export interface ResponseAddress {
  identity: Identity;
  requestId: string | null;
  spaceId: string;
  responseId: string;
}

/**
 * One response with its authorisation, in one round trip. While it runs, `output` holds what readers of the stream
 * have: finished items, running calls and the open message with its text so far.
 */
export async function readResponse(rows: ResponseRows, address: ResponseAddress): Promise<ReadResponse> {
  const row = await rows.read(placeOf(address));
  const caller = admitTo(row, address);
  const { next_n: nextN, expires_in_ms: expiresInMs, record: finished } = row;
  const reader = readerOf(caller);
  if (finished !== null) {
    return {
      caller,
      reader,
      finished,
      nextN,
      expiresInMs,
      // Parsed on demand: most readers need the text alone.
      get record() {
        return JSON.parse(finished) as ResponseRecord;
      },
    };
  }
  if (row.head === null) {
    throw goneError(row.ids);
  }
  const record = toResponseRecord(row.head, outputOf(row), row.usage ?? noUsage);
  return { caller, reader, finished, nextN, expiresInMs, record };
}

/** Authorises a reader of a response and reads nothing else. @throws as `readResponse` does */
export async function admitReader(rows: ResponseRows, address: ResponseAddress): Promise<Caller> {
  const row = await rows.read({ ...placeOf(address), bare: true });
  const caller = admitTo(row, address);
  if (row.owner === null || row.ids !== null) {
    throw goneError(row.ids);
  }
  return caller;
}

function placeOf({ identity, spaceId, responseId }: ResponseAddress): RowAddress {
  const { tenantId, principalId } = identity;
  return { tenantId, principalId, spaceId, responseId };
}

function admitTo(row: ResponseRow, { identity, requestId, spaceId }: ResponseAddress): Caller {
  if (row.access === null) {
    throw new DomainError('principal_disabled', 'This principal is disabled.');
  }
  const caller = admit(identity, { via: 'api', requestId }, row.access, spaceId);
  if (row.owner !== null) {
    authorizeResponse(caller, 'responses.read', row.owner);
  }
  return caller;
}

/** By index: what opens a turn is stored with it, and stands among the events of the open turn too. */
function outputOf(row: ResponseRow): OutputItem[] {
  const output = new Map<number, OutputItem>();
  const { closed, open } = foldTurn(row.open_events?.split('\n') ?? []);
  for (const { outputIndex, item } of closed) {
    // Reasoning; a message that another one has superseded is no output.
    if (item.type !== 'message' || item.platform?.superseded_by === undefined) {
      output.set(outputIndex, item);
    }
  }
  for (const call of row.open_calls ?? []) {
    output.set(call.outputIndex, callItem(call, { status: 'in_progress' }));
  }
  for (const item of row.items ?? []) {
    output.set(item.output_index, JSON.parse(item.wire) as OutputItem);
  }
  if (open !== null) {
    output.set(open.outputIndex, toItem(open, 'in_progress'));
  }
  return [...output].sort(([a], [b]) => a - b).map(([, item]) => item);
}
