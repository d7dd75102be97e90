import { Context } from '@temporalio/activity';
import type { SourceParts } from '#domain/capabilities/connections/connection-parts.ts';
import type { AnchorLog } from '#domain/foundation/events/anchor.ts';
import type { ErasureRoles } from '#domain/operations/erasure/erase-batch.ts';
import { certify } from '#domain/operations/tenant-deletion/certify.ts';
import type { DeletionStep } from '#domain/operations/tenant-deletion/deletion-status.ts';
import {
  destroyKeys,
  eraseRows,
  takeStock,
  type ErasurePlace,
} from '#domain/operations/tenant-deletion/erase-rows.ts';
import { haltTenant } from '#domain/operations/tenant-deletion/halt-tenant.ts';
import { nextStage, type DeletionStage } from '#domain/operations/tenant-deletion/next-stage.ts';
import { changeDeletion, enterStep, type DeletionRef } from '#domain/operations/tenant-deletion/progress.ts';
import { reportFailure } from '#domain/operations/tenant-deletion/report-failure.ts';
import { revokeExternal } from '#domain/operations/tenant-deletion/revoke-external.ts';
import { stopWork, type StoppedWork } from '#domain/operations/tenant-deletion/stop-work.ts';
import type { TenantWorkflows } from '#domain/operations/tenant-deletion/tenant-workflows.ts';
import { proveErasure, type Prover } from '#domain/operations/tenant-deletion/prove-erasure.ts';
import type {
  EraseInput,
  EraseResult,
  FaultInput,
  StopInput,
  VerifyResult,
} from '#workflows/delete-tenant/messages.ts';
import { keepAlive } from '../keep-alive.ts';

export interface DeletionDependencies extends SourceParts, ErasureRoles {
  tenantWorkflows: TenantWorkflows;
  prover: Prover;
  anchors: AnchorLog;
  eventRetentionDays: number;
  softwareVersion: string;
}

/** How long one slice of the erasure goes on. */
const sliceMs = 20_000;
const historyPage = 200;
const beatEveryMs = 1_000;

export function createDeletionActivities(deps: DeletionDependencies) {
  const { unitOfWork } = deps;
  const workflows = deps.tenantWorkflows;
  const inStep = <T>(ref: DeletionRef, step: DeletionStep, work: () => Promise<T>): Promise<T> =>
    keepAlive(async () => {
      await enterStep(unitOfWork, ref, step);
      return work();
    });
  return {
    haltTenant: ({ tenantId }: DeletionRef) => keepAlive(() => haltTenant(unitOfWork, tenantId)),
    nextDeletionStage: ({ tenantId, deletionId }: DeletionRef): Promise<DeletionStage> =>
      unitOfWork.inTenant(tenantId, (em) => nextStage(em, tenantId, deletionId)),
    stopTenantWork: ({ force, ...ref }: StopInput): Promise<StoppedWork> =>
      inStep(ref, 'stopping', () => stopWork({ unitOfWork, workflows }, ref.tenantId, { force })),
    revokeExternal: (ref: DeletionRef) => inStep(ref, 'revoking', () => revokeExternal(deps, ref)),
    takeStock: (ref: DeletionRef) => inStep(ref, 'counting', () => takeStock(deps, ref)),
    destroyTenantKeys: (ref: DeletionRef) => inStep(ref, 'destroying_key', () => destroyKeys(deps, ref)),
    eraseTenantRows: (input: EraseInput) => eraseSlice(deps, input),
    deleteHistories: (ref: DeletionRef) =>
      inStep(ref, 'deleting_histories', async () => {
        for (const workflowId of await workflows.listOpen(ref.tenantId, historyPage)) {
          await workflows.terminate(workflowId);
        }
        const deleted = await workflows.deleteClosed(ref.tenantId);
        await changeDeletion(unitOfWork, ref, (deletion) => {
          deletion.historiesDeleted += deleted;
        });
      }),
    verifyDeletion: (ref: DeletionRef): Promise<VerifyResult> =>
      inStep(ref, 'verifying', () => proveErasure({ ...deps, workflows }, ref)),
    certifyDeletion: (ref: DeletionRef) => inStep(ref, 'certifying', () => certify(deps, ref)),
    reportDeletionFailure: ({ step, reason, ...ref }: FaultInput) =>
      reportFailure(unitOfWork, ref, { step, reason }),
  };
}

/** The heartbeat holds the place of the next batch, from which the attempt after a crash goes on. */
async function eraseSlice(deps: DeletionDependencies, { from, ...ref }: EraseInput): Promise<EraseResult> {
  const context = Context.current();
  const lost: unknown = context.info.heartbeatDetails;
  let place = (lost as ErasurePlace | null | undefined) ?? from;
  let rows = 0;
  const until = performance.now() + sliceMs;
  const timer = setInterval(() => context.heartbeat(place), beatEveryMs);
  try {
    await enterStep(deps.unitOfWork, ref, 'erasing');
    const next = await eraseRows(deps, ref, {
      from: place,
      mayGoOn: () => performance.now() < until && !context.cancellationSignal.aborted,
      reached: (at, erased) => {
        place = at;
        rows += erased;
        context.heartbeat(place);
      },
    });
    return { next, rows };
  } finally {
    clearInterval(timer);
  }
}
