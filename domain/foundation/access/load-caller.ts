import type { EntityManager } from '@mikro-orm/postgresql';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { Caller, Identity, Origin, Actor } from './caller.ts';
import { admit, toAdmission, type AccessRecord, type Admission } from './policy.ts';

/** The current permissions of `identity`, read in the current transaction. */
export async function loadCaller(
  em: EntityManager,
  identity: Identity,
  origin: Origin,
  where: string | null | Admission,
): Promise<Caller> {
  const admission = toAdmission(where);
  const [row] = await em.execute<{ access: AccessRecord | null }[]>(
    'select app.read_access(?, ?, ?) as access',
    [identity.tenantId, identity.principalId, admission.spaceId],
  );
  return admitFound(identity, origin, row?.access ?? null, admission);
}

/** The requester of a workflow's work as hot SQL reads it (`app.read_head`). */
export interface RequesterRecord {
  access: AccessRecord | null;
  /** The key that was used; null when no key was used, or when it was deleted. */
  key: { revoked: boolean; permissions: string[] | null } | null;
}

/**
 * The principal on whose behalf a workflow acts, with its current permissions: a grant or key revoked since then
 * stops the work.
 */
export function rebuildCaller(
  requester: { tenantId: string; principalId: string; apiKeyId?: string | null | undefined; spaceId: string },
  { access, key }: RequesterRecord,
): Caller {
  if (requester.apiKeyId != null && (key === null || key.revoked)) {
    throw new DomainError('invalid_credentials', 'The credentials are not valid.');
  }
  const identity: Identity = {
    tenantId: requester.tenantId,
    principalId: requester.principalId,
    apiKeyId: requester.apiKeyId ?? null,
    keyPermissions: key?.permissions ?? null,
  };
  return admitFound(identity, { via: 'workflow', requestId: null }, access, { spaceId: requester.spaceId });
}

/** The same principal as events name it; its permissions are not checked. */
export function requesterOf(
  requester: { tenantId: string; principalId: string },
  { access }: RequesterRecord,
): Actor {
  if (access === null) {
    throw new Error('The principal of a response is gone.');
  }
  return {
    tenantId: requester.tenantId,
    principalId: requester.principalId,
    principalType: access.principal_type,
    origin: { via: 'workflow', requestId: null },
  };
}

function admitFound(
  identity: Identity,
  origin: Origin,
  access: AccessRecord | null,
  admission: Admission,
): Caller {
  if (access === null) {
    throw new DomainError('principal_disabled', 'This principal is disabled.');
  }
  return admit(identity, origin, access, admission);
}
