import { defineQuery } from '@temporalio/workflow';

/** Ids and numbers only. */
export interface GenerateResponseInput {
  tenantId: string;
  spaceId: string;
  responseId: string;
  /** The model's alias, for people who look at Temporal UI. */
  model: string;
  timeoutSeconds: number;
}

export interface ResponseProgress {
  iteration: number;
  step: 'turn' | 'calls' | 'closing' | 'done';
}

export const progressQuery = defineQuery<ResponseProgress>('progress');
