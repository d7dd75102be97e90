import { own } from '#domain/foundation/kernel/own.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { foundNothing, type Certificate } from '#domain/operations/erasure-proof/certificate.ts';
import { signCertificate } from '#domain/operations/erasure-proof/sign-certificate.ts';
import { buryTenant } from '#domain/operations/erasure-proof/tombstone.ts';
import { VerifierFailure } from '#domain/operations/erasure-proof/verifier-failure.ts';
import { lockDeletion } from './find-deletion.ts';
import type { DeletionRef } from './progress.ts';
import { sampledTables } from './read-stock.ts';
import { recordForOperators } from './report-failure.ts';
import type { TenantDeletion } from './tenant-deletion.entity.ts';

export interface CertifyParts {
  unitOfWork: UnitOfWork;
  /** Runs as the purge role. */
  purge: UnitOfWork;
  secrets: Secrets;
  softwareVersion: string;
}

/** Signs the certificate, keeps it with the tombstone, and ends the deletion. Repeating it changes nothing. */
export async function certify(parts: CertifyParts, ref: DeletionRef): Promise<void> {
  const { tenantId, deletionId } = ref;
  await parts.purge.inTenant(tenantId, async (em) => {
    const deletion = await lockDeletion(em, deletionId);
    if (deletion.status === 'deleted') {
      return;
    }
    const now = new Date();
    await buryTenant(
      em,
      signCertificate(describe(deletion, now, parts.softwareVersion), parts.secrets.certificateKey()),
    );
    deletion.status = 'deleted';
    deletion.step = 'finished';
    deletion.tableName = null;
    deletion.failure = null;
    deletion.endedAt = now;
    deletion.updatedAt = now;
  });
  await recordForOperators(parts.unitOfWork, ref, {
    type: 'system.tenant_deletion_completed',
    dedupeKey: `tenant_deletion_completed/${deletionId}`,
  });
}

/** @throws unless a verifier found nothing */
function describe(deletion: TenantDeletion, now: Date, softwareVersion: string): Certificate {
  const { proof, counted } = deletion;
  if (proof == null || !foundNothing(proof)) {
    throw new Error('Nothing is certified that no verifier has found erased.');
  }
  if (counted == null) {
    throw new Error('Nothing is certified that was not counted before.');
  }
  requireSight(counted, proof, deletion.sampledIds);
  const began = (deletion.startedAt ?? now).toISOString();
  return {
    version: 1,
    tenant_id: deletion.tenantId,
    deletion_id: deletion.id,
    reason_code: deletion.reasonCode,
    software_version: softwareVersion,
    requested_at: deletion.requestedAt.toISOString(),
    began_at: began,
    finished_at: now.toISOString(),
    erased_by_key: { key_ids: deletion.keyIds, destroyed_at: (deletion.keyDestroyedAt ?? now).toISOString() },
    erased_by_row: {
      rows_before: counted,
      rows_erased: deletion.erased,
      bytes: deletion.bytes ?? {},
    },
    external_revocations: deletion.revocations,
    workflow_histories_deleted: deletion.historiesDeleted,
    event_chain: deletion.eventChain ?? null,
    verification: proof,
  };
}

/** A table that was not counted, and ids that were not looked for, prove nothing. @throws VerifierFailure */
function requireSight(
  counted: Record<string, number>,
  { tables, sampled_ids: looked }: Certificate['verification'],
  sampledIds: readonly string[],
): void {
  const unseen = Object.keys(counted).filter((table) => own(tables, `public.${table}`) === undefined);
  const hadIds = sampledTables.some((table) => (own(counted, table) ?? 0) > 0);
  if (unseen.length > 0 || looked !== sampledIds.length || (hadIds && looked === 0)) {
    throw new VerifierFailure('verifier_blind', 'The verifier has not looked for all that was erased.');
  }
}
