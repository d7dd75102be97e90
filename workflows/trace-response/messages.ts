export type { TraceResponseInput } from '#domain/foundation/durable/workflow-inputs.ts';

export interface TraceResponseResult {
  /** `skipped`: the response or its space's configuration is gone; `given_up`: it was refused. */
  outcome: 'exported' | 'skipped' | 'given_up';
  /** With `given_up`. Results of earlier versions lack it. */
  error?: string;
}

export interface TraceResponseEnd {
  /** `failed`: it was refused, or never reached. */
  status: 'exported' | 'skipped' | 'failed';
  reason: string | null;
}
