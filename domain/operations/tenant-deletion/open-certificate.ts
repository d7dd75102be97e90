import { DomainError, invalidCredentials } from '#domain/foundation/kernel/errors.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { SignedCertificate } from '#domain/operations/erasure-proof/certificate.ts';
import { matchesToken } from './deletion-token.ts';
import { readCertificate } from './read-certificate.ts';
import { lockDeletion } from './find-deletion.ts';

/** A link for one use, but for an answer that was lost on its way: the first use begins this time. */
const readAgainMs = 86_400_000;

/**
 * The certificate for the holder of the token that the request for the deletion answered; the tenant may be gone.
 * @throws `invalid_credentials` for a wrong or spent token and for an unknown deletion alike, `invalid_state` before the end
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
    const deletion = await lockDeletion(em, deletionId);
    const now = await databaseNow(em);
    const { certificateReadAt: readAt } = deletion;
    const isSpent = readAt != null && now.getTime() - readAt.getTime() > readAgainMs;
    if (!matchesToken(secrets, token, deletion.tokenHash) || isSpent) {
      throw invalidCredentials();
    }
    const certificate = await readCertificate(em, deletionId);
    if (certificate === null) {
      throw new DomainError(
        'invalid_state',
        `The deletion is ${deletion.status}: it has no certificate yet.`,
      );
    }
    deletion.certificateReadAt ??= now;
    return certificate;
  });
}
