import type { GatewayDependencies } from './compose.ts';
import { readMapping, type PiiMapping } from '#domain/governance/pii-mapping.ts';
import { restoreValue } from '#domain/governance/restore.ts';
import { readRequest } from '#domain/responses/read-request.ts';
import type { ReadResponse } from '#domain/responses/read-response.ts';

type Parts = Pick<GatewayDependencies, 'database' | 'unitOfWork' | 'secrets'>;

interface ResponseKey {
  tenantId: string;
  responseId: string;
}

/** Whether there is anything to restore for this reader: told without another look at the database. */
export function restoresFor({ record, maySeeValues }: ReadResponse): boolean {
  return maySeeValues && record.platform.governance_applied.pii !== undefined;
}

/** A response that was just read, as its reader may see it. */
export async function restoreRead(
  parts: Parts,
  key: ResponseKey,
  current: ReadResponse,
): Promise<ReadResponse> {
  if (!restoresFor(current)) {
    return current;
  }
  return { ...current, record: restoreValue(current.record, await openMapping(parts, key)) };
}

/** What the tokens of a response stand for. */
export async function openMapping(
  { database, unitOfWork, secrets }: Parts,
  { tenantId, responseId }: ResponseKey,
): Promise<PiiMapping> {
  const holders = (await readRequest(database, { tenantId, responseId }))?.redaction?.holders ?? [];
  return unitOfWork.inTenant(tenantId, (em) => readMapping({ em, secrets }, tenantId, holders));
}
