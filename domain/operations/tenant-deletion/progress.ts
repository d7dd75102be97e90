import type { EntityManager } from '@mikro-orm/postgresql';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { DeletionStep } from './deletion-status.ts';
import { lockDeletion } from './find-deletion.ts';
import type { TenantDeletion } from './tenant-deletion.entity.ts';

export interface DeletionRef {
  tenantId: string;
  deletionId: string;
}

/** Changes the row of a deletion that is erasing, for readers and for the certificate. */
export async function changeDeletion(
  unitOfWork: UnitOfWork,
  { tenantId, deletionId }: DeletionRef,
  change: (deletion: TenantDeletion) => void,
): Promise<void> {
  await unitOfWork.inTenant(tenantId, (em) => noteIn(em, deletionId, change));
}

/** The same in the transaction of what the row says: neither of them is there without the other. */
export async function noteIn(
  em: EntityManager,
  deletionId: string,
  change: (deletion: TenantDeletion) => void,
): Promise<void> {
  const deletion = await lockDeletion(em, deletionId);
  if (deletion.status === 'deleting') {
    change(deletion);
    deletion.updatedAt = new Date();
    await em.flush();
  }
}

/** The step that is under way; what hindered another step before is mended. */
export async function enterStep(unitOfWork: UnitOfWork, ref: DeletionRef, step: DeletionStep): Promise<void> {
  await changeDeletion(unitOfWork, ref, (deletion) => {
    // An attempt at the step that has failed mends nothing yet.
    if (deletion.failure?.step !== step) {
      deletion.failure = null;
    }
    deletion.step = step;
    deletion.tableName = null;
  });
}
