import type { Identity } from '#domain/access/caller.ts';
import { admit, type AccessRecord } from '#domain/access/policy.ts';
import { maySeeValues } from '#domain/governance/show-restored.ts';
import { DomainError } from '#domain/kernel/errors.ts';
import type { Database } from '#domain/persistence/database.ts';
import { callItem, type CallPlace } from './call-items.ts';
import { foldTurn, toItem } from './open-item.ts';
import type { OutputItem } from './output-items.ts';
import { authorizeResponse, goneError } from './response-access.ts';
import {
  noUsage,
  toResponseRecord,
  type ResponseHead,
  type ResponseRecord,
  type UsageSum,
} from './response-record.ts';

interface ReadRow {
  access: AccessRecord | null;
  head: (ResponseHead & { principal_id: string; next_n: number; expires_in_ms: number }) | null;
  ids: { principal_id: string; expired: boolean; deleted: boolean } | null;
  items: { output_index: number; wire: string }[] | null;
  usage: UsageSum | null;
  open_calls: CallPlace[] | null;
  open_events: string | null;
}

export interface ReadResponse {
  record: ResponseRecord;
  /** Sequence number of the next stream event. */
  nextN: number;
  /** By the database's clock. */
  expiresInMs: number;
  /** Whether tokens are shown to this reader as what they stand for. */
  maySeeValues: boolean;
}

export interface ResponseAddress {
  identity: Identity;
  requestId: string | null;
  spaceId: string;
  responseId: string;
}

/**
 * One response with its authorisation, in one round trip. While it runs, `output` holds what readers of the
 * stream have: finished items, running calls and the open message with its text so far.
 */
export async function readResponse(database: Database, address: ResponseAddress): Promise<ReadResponse> {
  const { identity, spaceId, responseId } = address;
  const [row] = await database.call<ReadRow>(
    'read_response',
    'select * from app.read_response($1, $2, $3, $4)',
    [identity.tenantId, identity.principalId, spaceId, responseId],
  );
  if (row?.access == null) {
    throw new DomainError('principal_disabled', 'This principal is disabled.');
  }
  const caller = admit(identity, { via: 'api', requestId: address.requestId }, row.access, spaceId);
  const owner = row.head?.principal_id ?? row.ids?.principal_id;
  if (owner !== undefined) {
    authorizeResponse(caller, 'responses.read', owner);
  }
  if (row.head === null) {
    throw goneError(row.ids);
  }
  return {
    record: toResponseRecord(row.head, outputOf(row), row.usage ?? noUsage),
    nextN: row.head.next_n,
    expiresInMs: row.head.expires_in_ms,
    maySeeValues: maySeeValues(caller, row.head.principal_id),
  };
}

function outputOf(row: ReadRow): OutputItem[] {
  const output = (row.items ?? []).map((item) => ({
    at: item.output_index,
    item: JSON.parse(item.wire) as OutputItem,
  }));
  for (const call of row.open_calls ?? []) {
    output.push({ at: call.outputIndex, item: callItem(call, { status: 'in_progress' }) });
  }
  const open = row.open_events === null ? null : foldTurn(row.open_events.split('\n')).open;
  if (open !== null) {
    output.push({ at: open.outputIndex, item: toItem(open, 'in_progress') });
  }
  return output.sort((a, b) => a.at - b.at).map(({ item }) => item);
}
