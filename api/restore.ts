import type { PiiMapping } from '#domain/governance/pii-mapping.ts';
import { restoreValue } from '#domain/governance/restore.ts';
import { readerIn, readVisible, type Reader } from '#domain/governance/show-restored.ts';
import { readRequest } from '#domain/responses/read-request.ts';
import type { ReadResponse } from '#domain/responses/read-response.ts';
import type { GatewayDependencies } from './compose.ts';

type Parts = Pick<GatewayDependencies, 'database' | 'unitOfWork' | 'secrets'>;

interface ResponseKey {
  tenantId: string;
  responseId: string;
}

/** How a record says that its space demanded redaction. Within texts, quotes are escaped. */
const demanded = '"pii":{"mode"';

/** The reader, if there may be anything to restore: told without another look at the database. */
export function restoringReader(current: ReadResponse): Reader | null {
  const screened =
    current.finished === null
      ? current.record.platform.governance_applied.pii !== undefined
      : current.finished.includes(demanded);
  return screened ? current.reader : null;
}

/** A response that was just read, as its reader may see it. */
export async function restoreRead(
  parts: Parts,
  key: ResponseKey,
  current: ReadResponse,
): Promise<ReadResponse> {
  if (restoringReader(current) === null) {
    return current;
  }
  const { caller, record, nextN, expiresInMs } = current;
  const reader = await readerThere(parts, current.reader, { caller, record });
  const shown = restoreValue(record, await openMapping(parts, key, reader));
  return { caller, reader, finished: null, record: shown, nextN, expiresInMs };
}

/** The reader, with what its role in the project of the response's thread adds. */
async function readerThere(
  { unitOfWork }: Parts,
  reader: Reader,
  { caller, record }: Pick<ReadResponse, 'caller' | 'record'>,
): Promise<Reader> {
  const threadId = record.platform.thread_id;
  return reader.seesAll || threadId === undefined
    ? reader
    : unitOfWork.inTenant(caller.tenantId, (em) => readerIn({ caller, em }, threadId));
}

/** What the tokens of a response stand for, as far as a reader may see it. */
export async function openMapping(
  { database, unitOfWork, secrets }: Parts,
  { tenantId, responseId }: ResponseKey,
  reader: Reader,
): Promise<PiiMapping> {
  const holders = (await readRequest(database, { tenantId, responseId }))?.redaction?.holders ?? [];
  return unitOfWork.inTenant(tenantId, (em) => readVisible({ em, secrets }, tenantId, { holders, reader }));
}
