/** Request limits of test deployments and benches: raised in the open, and never off. */
export const raisedLimits = {
  REQUESTS_PER_SECOND_PER_PRINCIPAL: '100000',
  REQUEST_BURST_PER_PRINCIPAL: '100000',
  REQUESTS_PER_SECOND_PER_TENANT: '100000',
  REQUEST_BURST_PER_TENANT: '100000',
  MAX_ACTIVE_RESPONSES_PER_TENANT: '100000',
};

/** Limits as deployments have them. */
export const defaultLimits = {
  REQUESTS_PER_SECOND_PER_PRINCIPAL: '50',
  REQUEST_BURST_PER_PRINCIPAL: '100',
  REQUESTS_PER_SECOND_PER_TENANT: '300',
  REQUEST_BURST_PER_TENANT: '600',
  MAX_ACTIVE_RESPONSES_PER_TENANT: '200',
};
