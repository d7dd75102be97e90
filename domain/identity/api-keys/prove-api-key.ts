import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { parseApiKey, secretMatches } from './api-key.ts';
import type { CredentialCache, VerifiedCredential } from './credential-cache.ts';

/** A key as the database stores it. */
interface CredentialRow {
  tenant_id: string;
  id: string;
  principal_id: string;
  secret_hash: string;
  permissions: string[] | null;
  usable: boolean;
  expires_in_ms: number;
}

interface Deps {
  database: Database;
  secrets: Secrets;
  credentialCache: CredentialCache;
}

/** Verifies an API key against the database and returns its identity; null for every cause of refusal alike. */
export async function proveApiKey(
  { database, secrets, credentialCache }: Deps,
  token: string,
): Promise<VerifiedCredential | null> {
  const parsed = parseApiKey(token);
  if (parsed === null) {
    return null;
  }
  const { keyId, secret } = parsed;
  return credentialCache.refresh(token, async () => {
    const askedAt = performance.now();
    // One row for every id: an unknown id costs the same work as a known one.
    const [row] = (await database.call<CredentialRow>(
      'find_credential',
      'select * from app.find_credential($1)',
      [keyId],
    )) as [CredentialRow];
    const matches = secretMatches(secrets, secret, row.secret_hash);
    return matches && row.usable
      ? {
          keyId,
          goodUntil: askedAt + row.expires_in_ms,
          identity: {
            tenantId: row.tenant_id,
            principalId: row.principal_id,
            apiKeyId: row.id,
            keyPermissions: row.permissions,
          },
        }
      : null;
  });
}
