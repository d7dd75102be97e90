import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { Verification } from '#domain/operations/erasure-proof/verify-erasure.ts';
import { changeDeletion, type DeletionRef } from './progress.ts';
import { newestDeletion } from './find-deletion.ts';
import type { TenantWorkflows } from './tenant-workflows.ts';

/** Counts what is left of a tenant, in a process and under a role that share nothing with the erasure. */
export interface Prover {
  verify(tenantId: string, sampledIds: readonly string[]): Promise<Verification>;
}

export interface Proven {
  clean: boolean;
  /** Tables, or `workflows`, where something is left. */
  left: string[];
}

/** Has everything counted by the verifier and by Temporal, and keeps what they found for the certificate. */
export async function proveErasure(
  parts: { unitOfWork: UnitOfWork; prover: Prover; workflows: TenantWorkflows },
  ref: DeletionRef,
): Promise<Proven> {
  const sampledIds = await parts.unitOfWork.inTenant(
    ref.tenantId,
    async (em) => (await newestDeletion(em))?.sampledIds ?? [],
  );
  const found = await parts.prover.verify(ref.tenantId, sampledIds);
  const workflows = await parts.workflows.countListed(ref.tenantId);
  const left = Object.entries({ ...found.tables, ...found.shared, workflows })
    .filter(([, count]) => count > 0)
    .map(([name]) => name);
  await changeDeletion(parts.unitOfWork, ref, (deletion) => {
    deletion.proof = {
      tables: found.tables,
      shared: found.shared,
      bytes: found.bytes,
      workflows,
      sampled_ids: sampledIds.length,
      verified_at: new Date().toISOString(),
    };
  });
  return { clean: found.clean && workflows === 0, left };
}
