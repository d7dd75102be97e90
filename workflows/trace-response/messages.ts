export type { TraceResponseInput } from '#domain/foundation/durable/workflow-inputs.ts';

export interface TraceResponseResult {
  /** `skipped`: the response or its space's configuration was deleted; `given_up`: the endpoint refused it. */
  outcome: 'exported' | 'skipped' | 'given_up';
  /** With `given_up`. Missing in results of earlier versions. */
  error?: string;
}

export interface TraceResponseEnd {
  /** `failed`: the endpoint refused it, or was never reached. */
  status: 'exported' | 'skipped' | 'failed';
  reason: string | null;
}
