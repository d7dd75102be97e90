import { DomainError, invalidCredentials } from '#domain/foundation/kernel/errors.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { SignedCertificate } from '#domain/operations/erasure-proof/certificate.ts';
import { matchesToken } from './deletion-token.ts';
import { readCertificate } from './read-certificate.ts';
import { TenantDeletion } from './tenant-deletion.entity.ts';

/**
 * The certificate for the holder of the token that the request for the deletion answered; the tenant may be gone.
 * @throws `invalid_credentials` for a wrong token and for an unknown deletion alike, `invalid_state` before the end
 */
export async function openCertificate(
  { database, unitOfWork, secrets }: { database: Database; unitOfWork: UnitOfWork; secrets: Secrets },
  { deletionId, token }: { deletionId: string; token: string },
): Promise<SignedCertificate> {
  const [found] = await database.call<{ tenant_id: string }>(
    'find_deletion',
    'select * from app.find_deletion($1)',
    [deletionId],
  );
  if (found === undefined) {
    throw invalidCredentials();
  }
  return unitOfWork.inTenant(found.tenant_id, async (em) => {
    const deletion = await em.findOneOrFail(TenantDeletion, { id: deletionId });
    if (!matchesToken(secrets, token, deletion.tokenHash)) {
      throw invalidCredentials();
    }
    const certificate = await readCertificate(em, deletionId);
    if (certificate === null) {
      throw new DomainError(
        'invalid_state',
        `The deletion is ${deletion.status}: it has no certificate yet.`,
      );
    }
    return certificate;
  });
}
