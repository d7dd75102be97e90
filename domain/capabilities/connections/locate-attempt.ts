import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { notFound, type DomainError } from '#domain/foundation/kernel/errors.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { hashFor } from './attempt-secrets.ts';

/** What a browser keeps of an attempt; null: nothing. Several popups may be open in one browser. */
export type CookieOf = (attemptId: string) => string | null;

/** The place of an attempt by what its popup carries: the popup has no tenant. */
export async function locateAttempt(
  { database, secrets }: { database: Database; secrets: Secrets },
  kind: 'nonce' | 'state',
  value: string,
): Promise<{ tenantId: string; id: string } | null> {
  const [row] = await database.call<{ tenant_id: string; id: string }>(
    'find_authorization_attempt',
    'select * from app.find_authorization_attempt($1, $2)',
    [kind, hashFor(secrets, kind, value)],
  );
  return row === undefined ? null : { tenantId: row.tenant_id, id: row.id };
}

/** The same for an attempt that is unknown, used, over, or of another browser or principal. */
export function noAttempt(): DomainError {
  return notFound('authorization_attempt_not_found');
}
