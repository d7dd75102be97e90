import {
  isRequestFault,
  deniesAccess,
  type VendorRefusal,
} from '#domain/capabilities/models/vendor-refusal.ts';
import type { FailureCode, FailureReason } from './response-status.ts';

const reasons: Readonly<Record<FailureCode, Pick<FailureReason, 'type' | 'message'>>> = {
  model_error: { type: 'server_error', message: 'The model could not answer.' },
  model_timeout: { type: 'server_error', message: 'The model did not answer in time.' },
  rate_limited: { type: 'rate_limit_error', message: 'The model is rate limited.' },
  context_length_exceeded: {
    type: 'invalid_request_error',
    message: "The conversation exceeds the model's context.",
  },
  tools_unavailable: { type: 'server_error', message: 'A tool that was asked for is not available.' },
  tool_outcome_unknown: {
    type: 'server_error',
    message: 'A tool was called and its outcome is not known; it was not called again.',
  },
  policy_blocked: { type: 'permission_error', message: "The space's policy does not allow this." },
  permission_revoked: {
    type: 'permission_error',
    message: 'A permission that the response needs was revoked.',
  },
  generation_lost: { type: 'server_error', message: 'The generation was interrupted too often to go on.' },
  engine_unavailable: { type: 'server_error', message: 'No worker began the response within an hour.' },
  internal_error: { type: 'server_error', message: 'The response ended without a result.' },
};

export function failureReason(code: FailureCode): FailureReason {
  return { code, ...reasons[code], param: null };
}

/** The failure for a vendor's error, with the details that may be shown. */
export function vendorFailure(code: FailureCode, refusal: VendorRefusal | null): FailureReason {
  const reason = failureReason(code);
  if (refusal === null || code !== 'model_error') {
    return reason;
  }
  const said = `(HTTP ${refusal.status}${refusal.code === null ? '' : `, ${refusal.code}`})`;
  if (deniesAccess(refusal)) {
    const message = `The model's provider does not serve this model to the platform ${said}.`;
    return { ...reason, type: 'permission_error', message };
  }
  return isRequestFault(refusal)
    ? {
        ...reason,
        type: 'invalid_request_error',
        message: `The model's provider refused the request ${said}.`,
        param: refusal.param,
      }
    : { ...reason, message: `The model could not answer ${said}.` };
}
