import type { Database } from '#domain/foundation/persistence/database.ts';
import type { ResponseRequest } from './response-request.ts';

/**
 * The resolved request of a response, which never changes. The caller must have read the response, and so its
 * permission, before. Null: unknown, expired or deleted.
 */
export async function readRequest(
  database: Database,
  response: { tenantId: string; responseId: string },
): Promise<ResponseRequest | null> {
  const [row] = await database.call<{ request: ResponseRequest | null }>(
    'read_request',
    'select app.read_request($1, $2) as request',
    [response.tenantId, response.responseId],
  );
  return row?.request ?? null;
}
