import type { Database } from '#domain/foundation/persistence/database.ts';

/**
 * Whether a session has neither ended nor expired. Its access tokens may have: they are renewed, while what was begun
 * with one of them goes on.
 */
export async function isSessionOpen(
  database: Database,
  { tenantId, sessionId }: { tenantId: string; sessionId: string },
): Promise<boolean> {
  const [row] = await database.call<{ open: boolean }>(
    'is_session_open',
    'select app.is_session_open($1, $2) as open',
    [tenantId, sessionId],
  );
  return row?.open === true;
}
