import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { Delivered } from '#domain/foundation/durable/messages.ts';
import type { DeletionStatus } from '#domain/operations/tenant-deletion/deletion-status.ts';
import type { DeletionStep } from '#domain/operations/tenant-deletion/deletion-status.ts';
import type { ErasurePlace } from '#domain/operations/tenant-deletion/erase-rows.ts';
import type { DeletionRef } from '#domain/operations/tenant-deletion/progress.ts';
import type { Proven } from '#domain/operations/tenant-deletion/prove-erasure.ts';

export type { DeleteTenantInput } from '#domain/foundation/durable/workflow-inputs.ts';

export const cancelSignal = defineSignal<Delivered<[]>>('cancel');
export const runNowSignal = defineSignal<Delivered<[]>>('runNow');
export const stepQuery = defineQuery<DeletionStep>('step');

export interface DeleteTenantResult {
  status: DeletionStatus;
}

export interface StopInput extends DeletionRef {
  /** Ends workflows without waiting for their code. */
  force: boolean;
}

export interface EraseInput extends DeletionRef {
  from: ErasurePlace | null;
}

export interface EraseResult {
  /** Null: every table was passed. */
  next: ErasurePlace | null;
  rows: number;
}

export type VerifyResult = Proven;

export interface FaultInput extends DeletionRef {
  step: DeletionStep;
  reason: string;
}
