import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { SignedCertificate } from '#domain/operations/erasure-proof/certificate.ts';
import { requireDeletion } from './find-deletion.ts';
import { readCertificate } from './read-certificate.ts';
import type { TenantDeletion } from './tenant-deletion.entity.ts';

/** A deletion with its certificate, null before its end. */
export interface DeletionView {
  deletion: TenantDeletion;
  certificate: SignedCertificate | null;
}

/** The newest deletion of the caller's tenant. @throws `missing_permission`, `deletion_not_found` */
export async function readDeletion({ caller, em }: Context): Promise<DeletionView> {
  authorize(caller, 'tenants.delete');
  const deletion = await requireDeletion(em);
  return {
    deletion,
    certificate: deletion.status === 'deleted' ? await readCertificate(em, deletion.id) : null,
  };
}
