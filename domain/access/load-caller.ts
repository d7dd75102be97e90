import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '#domain/kernel/errors.ts';
import { ApiKey } from './api-key.entity.ts';
import type { Caller, Identity, Origin } from './caller.ts';
import { admit, type AccessRecord } from './policy.ts';

/** What `identity` may do now, read in the current transaction. */
export async function loadCaller(
  em: EntityManager,
  identity: Identity,
  origin: Origin,
  spaceId: string | null,
): Promise<Caller> {
  const [row] = await em.execute<{ access: AccessRecord | null }[]>(
    'select app.read_access(?, ?, ?) as access',
    [identity.tenantId, identity.principalId, spaceId],
  );
  if (row?.access == null) {
    throw new DomainError('principal_disabled', 'This principal is disabled.');
  }
  return admit(identity, origin, row.access, spaceId);
}

/**
 * The person or service account on whose behalf a workflow acts, with what is granted now: a grant or key
 * that was revoked meanwhile stops the work.
 */
export async function rebuildCaller(
  em: EntityManager,
  asker: { tenantId: string; principalId: string; apiKeyId?: string | null | undefined; spaceId: string },
): Promise<Caller> {
  const key = asker.apiKeyId == null ? null : await em.findOne(ApiKey, { id: asker.apiKeyId });
  if (asker.apiKeyId != null && (key === null || key.revokedAt != null)) {
    throw new DomainError('invalid_credentials', 'The credentials are not valid.');
  }
  const identity: Identity = {
    tenantId: asker.tenantId,
    principalId: asker.principalId,
    apiKeyId: asker.apiKeyId ?? null,
    keyPermissions: key?.permissions ?? null,
  };
  return loadCaller(em, identity, { via: 'workflow', requestId: null }, asker.spaceId);
}
