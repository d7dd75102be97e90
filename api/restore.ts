import type { PiiMapping } from '#domain/governance/redaction/pii-mapping.ts';
import { restoreValue } from '#domain/governance/redaction/restore.ts';
import type { Holder } from '#domain/governance/policy/pii-settings.ts';
import { readerIn, readerOf, readVisible, type Reader } from '#domain/conversations/threads/show-restored.ts';
import { readRequest } from '#domain/responses/record/read-request.ts';
import {
  admitReader,
  type ReadResponse,
  type ResponseAddress,
} from '#domain/responses/read/read-response.ts';
import type { GatewayDependencies } from './compose.ts';

type Parts = Pick<GatewayDependencies, 'database' | 'unitOfWork' | 'secrets'>;

interface ResponseKey {
  tenantId: string;
  responseId: string;
}

/**
 * Marks in a record that its space required redaction. Within texts, quotes are escaped, so the marker cannot occur
 * there.
 */
const demanded = '"pii":{"mode"';

/** The reader, if there may be tokens to restore; decided without a query. */
export function restoringReader(current: ReadResponse): Reader | null {
  const screened =
    current.finished === null
      ? current.record.platform.governance_applied.pii !== undefined
      : current.finished.includes(demanded);
  return screened ? current.reader : null;
}

/** A response that was just read, restored for its reader. */
export async function restoreRead(
  parts: Parts,
  key: ResponseKey,
  current: ReadResponse,
): Promise<ReadResponse> {
  if (restoringReader(current) === null) {
    return current;
  }
  const { caller, record, nextN, expiresInMs } = current;
  const holders = await holdersOf(parts, key);
  const { unitOfWork, secrets } = parts;
  return unitOfWork.inTenant(key.tenantId, async (em) => {
    const reader = await readerIn({ caller, em }, record.platform.thread_id);
    const mapping = await readVisible({ em, secrets }, key.tenantId, { holders, reader });
    return { caller, reader, finished: null, record: restoreValue(record, mapping), nextN, expiresInMs };
  });
}

/**
 * The reader of a response with current permissions, without reading its content. @throws as `readResponse` does
 * @param threadId its thread, where a role in the thread's project may apply
 */
export async function readerNow(
  { responseRows, unitOfWork }: Pick<GatewayDependencies, 'responseRows' | 'unitOfWork'>,
  address: ResponseAddress,
  threadId: string | null | undefined,
): Promise<Reader> {
  const caller = await admitReader(responseRows, address);
  const reader = readerOf(caller);
  return reader.seesAll || threadId == null
    ? reader
    : unitOfWork.inTenant(caller.tenantId, (em) => readerIn({ caller, em }, threadId));
}

/** The values of a response's tokens that the reader may see. */
export async function openMapping(parts: Parts, key: ResponseKey, reader: Reader): Promise<PiiMapping> {
  const { unitOfWork, secrets } = parts;
  const { tenantId } = key;
  const holders = await holdersOf(parts, key);
  return unitOfWork.inTenant(tenantId, (em) => readVisible({ em, secrets }, tenantId, { holders, reader }));
}

async function holdersOf({ database }: Parts, key: ResponseKey): Promise<readonly Holder[]> {
  return (await readRequest(database, key))?.redaction?.holders ?? [];
}
