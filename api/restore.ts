import { readMapping, type PiiMapping } from '#domain/governance/pii-mapping.ts';
import { restoreValue } from '#domain/governance/restore.ts';
import { visibleTo, type Reader } from '#domain/governance/show-restored.ts';
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
  const reader = restoringReader(current);
  if (reader === null) {
    return current;
  }
  const { record, nextN, expiresInMs } = current;
  const shown = restoreValue(record, await openMapping(parts, key, reader));
  return { reader, finished: null, record: shown, nextN, expiresInMs };
}

/** What the tokens of a response stand for, as far as a reader may see it. */
export async function openMapping(
  { database, unitOfWork, secrets }: Parts,
  { tenantId, responseId }: ResponseKey,
  reader: Reader,
): Promise<PiiMapping> {
  const holders = (await readRequest(database, { tenantId, responseId }))?.redaction?.holders ?? [];
  const mapping = await unitOfWork.inTenant(tenantId, (em) =>
    readMapping({ em, secrets }, tenantId, holders),
  );
  return visibleTo(reader, mapping);
}
