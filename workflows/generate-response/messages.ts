import { defineQuery } from '@temporalio/workflow';

export type { GenerateResponseInput } from '#domain/foundation/durable/workflow-inputs.ts';

export interface ResponseProgress {
  iteration: number;
  step: 'turn' | 'calls' | 'closing' | 'done';
}

export const progressQuery = defineQuery<ResponseProgress>('progress');
