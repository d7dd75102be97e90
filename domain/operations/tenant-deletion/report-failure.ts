import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { platformTenantId } from '#domain/workspace/tenants/platform-tenant.ts';
import { tenantExists } from '#domain/workspace/tenants/tenant-exists.ts';
import type { DeletionStep } from './deletion-status.ts';
import { lockDeletion } from './find-deletion.ts';
import type { DeletionRef } from './progress.ts';

/** What a step cannot do, as a code. */
export interface DeletionFault {
  step: DeletionStep;
  reason: string;
}

/**
 * Tells the operators of the platform what a deletion waits for: once for as long as it waits for that. A failure that
 * comes again after the step went on is another one.
 */
export async function reportFailure(
  unitOfWork: UnitOfWork,
  ref: DeletionRef,
  { step, reason }: DeletionFault,
): Promise<void> {
  const since = await unitOfWork.inTenant(ref.tenantId, async (em) => {
    const deletion = await lockDeletion(em, ref.deletionId);
    const { failure } = deletion;
    if (!deletion.isOpen()) {
      return null;
    }
    if (failure?.step === step && failure.reason === reason) {
      return failure.at;
    }
    const at = new Date().toISOString();
    deletion.failure = { step, reason, at };
    deletion.updatedAt = new Date();
    return at;
  });
  if (since !== null) {
    await recordForOperators(unitOfWork, ref, {
      type: 'system.tenant_deletion_failed',
      metadata: { step, failure: reason },
      dedupeKey: `tenant_deletion_failed/${ref.deletionId}/${step}/${reason}/${since}`,
    });
  }
}

/** An event in the log of the platform's operators: that of the tenant is erased. Without operators there is none. */
export async function recordForOperators(
  unitOfWork: UnitOfWork,
  { tenantId, deletionId }: DeletionRef,
  event: {
    type: 'system.tenant_deletion_failed' | 'system.tenant_deletion_completed';
    metadata?: Record<string, string | number>;
    dedupeKey: string;
  },
): Promise<void> {
  await unitOfWork.inTenant(platformTenantId, async (em) => {
    if (!(await tenantExists(em, platformTenantId))) {
      return;
    }
    await recordEvent(
      em,
      {
        tenantId: platformTenantId,
        principalId: null,
        principalType: 'anonymous',
        origin: { via: 'workflow', requestId: null },
      },
      {
        ...event,
        resource: { type: 'tenant', id: tenantId },
        metadata: { deletion_id: deletionId, ...event.metadata },
      },
    );
  });
}
