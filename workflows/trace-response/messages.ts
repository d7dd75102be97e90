/** Ids only. */
export interface TraceResponseInput {
  tenantId: string;
  spaceId: string;
  responseId: string;
}

export interface TraceResponseResult {
  /** `skipped`: the response or its space's configuration is gone; `given_up`: it was refused, or never reached. */
  outcome: 'exported' | 'skipped' | 'given_up';
}
