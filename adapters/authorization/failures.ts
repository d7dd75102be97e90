import {
  InsecureTokenEndpointError,
  IssuerMismatchError,
  OAuthError,
  RegistrationRejectedError,
} from '@modelcontextprotocol/client';
import { ResponseBodyError } from 'openid-client';
import {
  AuthorizationFailure,
  type AuthorizationFailureCode,
} from '#domain/capabilities/connections/authorization-servers.ts';
import type { Wire } from './wire.ts';

const failureOf = new Map<string, AuthorizationFailureCode>([
  ['invalid_client', 'client_rejected'],
  ['unauthorized_client', 'client_rejected'],
  ['invalid_grant', 'grant_rejected'],
  ['access_denied', 'access_denied'],
  ['invalid_scope', 'scope_rejected'],
  ['invalid_target', 'resource_mismatch'],
  ['temporarily_unavailable', 'unreachable'],
  ['slow_down', 'unreachable'],
]);

/** Runs one operation. Its failures are reduced to codes: the originals quote answers, and with them tokens. */
export async function withFailures<T>(wire: Wire, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failureIn(error) ?? new AuthorizationFailure(codeOf(error, wire), requestOf(wire));
  }
}

/** A gateway that answers for its server does not know what that has done. */
const gatewayFailures = new Set([502, 504]);

function requestOf({ sent, status, retryAfterMs }: Wire) {
  return { sent, answered: status !== null && !gatewayFailures.has(status), retryAfterMs };
}

/** Packages wrap what their fetch throws. */
function failureIn(error: unknown): AuthorizationFailure | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if (cause instanceof AuthorizationFailure) {
      return cause;
    }
  }
  return null;
}

function codeOf(error: unknown, { unavailable }: Wire): AuthorizationFailureCode {
  if (error instanceof IssuerMismatchError) {
    return 'issuer_mismatch';
  }
  if (error instanceof InsecureTokenEndpointError) {
    return 'url_not_allowed';
  }
  if (unavailable) {
    return 'unreachable';
  }
  if (error instanceof RegistrationRejectedError) {
    return 'client_required';
  }
  if (error instanceof OAuthError) {
    return failureOf.get(error.code) ?? 'protocol_error';
  }
  return error instanceof ResponseBodyError
    ? (failureOf.get(error.error) ?? 'protocol_error')
    : 'protocol_error';
}
