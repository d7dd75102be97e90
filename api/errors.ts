import type { DomainError, DomainErrorCode, FieldError } from '#domain/foundation/kernel/errors.ts';
import { isOpenAiPath, toOpenAiError } from './present/openai/errors.ts';

type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'conflict_error'
  | 'rate_limit_error'
  | 'server_error'
  | 'upstream_error'
  | 'unavailable_error';

const bad = (status: number) => ({ status, type: 'invalid_request_error' as const });
const unauthenticated = { status: 401, type: 'authentication_error' as const };
const forbidden = { status: 403, type: 'permission_error' as const };
const missing = { status: 404, type: 'not_found_error' as const };
const conflict = { status: 409, type: 'conflict_error' as const };
const limited = { status: 429, type: 'rate_limit_error' as const };
const upstream = { status: 502, type: 'upstream_error' as const };
const unavailable = { status: 503, type: 'unavailable_error' as const };

/** Status and class of every code. A new code does not compile until it is listed here. */
export const statusOf = {
  malformed_http: bad(400),
  invalid_header: bad(400),
  request_timeout: bad(408),
  expectation_failed: bad(417),
  not_authenticated: unauthenticated,
  invalid_credentials: unauthenticated,
  ambiguous_credentials: unauthenticated,
  token_expired: unauthenticated,
  login_transaction_required: unauthenticated,
  id_token_invalid: unauthenticated,
  missing_permission: forbidden,
  tenant_mismatch: forbidden,
  tenant_deleting: forbidden,
  tenant_suspended: forbidden,
  principal_disabled: forbidden,
  identity_provider_unconfirmed: forbidden,
  model_not_allowed: forbidden,
  tool_not_granted: forbidden,
  content_blocked: forbidden,
  redirect_uri_not_allowed: forbidden,
  invite_identity_mismatch: forbidden,
  tenant_not_found: missing,
  deletion_not_found: missing,
  principal_not_found: missing,
  api_key_not_found: missing,
  identity_provider_not_found: missing,
  session_not_found: missing,
  member_not_found: missing,
  role_not_found: missing,
  project_not_found: missing,
  invite_not_found: missing,
  invite_expired: { status: 410, type: 'not_found_error' },
  workflow_not_found: missing,
  space_not_found: missing,
  collection_not_found: missing,
  connector_not_found: missing,
  sync_run_not_found: missing,
  document_not_found: missing,
  model_not_found: missing,
  mcp_server_not_found: missing,
  credential_not_found: missing,
  connection_not_found: missing,
  authorization_attempt_not_found: missing,
  thread_not_found: missing,
  branch_not_found: missing,
  message_not_found: missing,
  skill_not_found: missing,
  skill_version_not_found: missing,
  observability_config_not_found: missing,
  notification_not_found: missing,
  response_not_found: missing,
  event_not_found: missing,
  previous_response_not_found: missing,
  response_expired: missing,
  response_deleted: missing,
  route_not_found: missing,
  method_not_allowed: bad(405),
  not_acceptable: bad(406),
  unsupported_media_type: bad(415),
  invalid_state: conflict,
  already_exists: conflict,
  idempotency_in_progress: conflict,
  response_not_cancellable: conflict,
  previous_response_in_progress: conflict,
  thread_archived: conflict,
  tool_definition_conflict: conflict,
  credential_in_use: conflict,
  mcp_server_in_use: conflict,
  connector_check_failed: conflict,
  authorization_client_required: conflict,
  authorization_failed: conflict,
  payload_too_large: bad(413),
  headers_too_large: bad(431),
  invalid_request: bad(422),
  unknown_parameter: bad(422),
  unsupported_parameter: bad(422),
  unsupported_document_type: bad(422),
  invalid_cursor: bad(422),
  cursor_out_of_range: bad(422),
  cursor_without_response: bad(422),
  idempotency_key_reused: bad(422),
  idempotency_key_conflict: bad(422),
  model_required: bad(422),
  context_length_exceeded: bad(422),
  tool_output_missing: bad(422),
  tools_unavailable: bad(422),
  remote_url_not_allowed: bad(422),
  transport_not_allowed: bad(422),
  url_not_allowed: bad(422),
  rate_limited: limited,
  too_many_active_responses: limited,
  too_many_failed_attempts: limited,
  budget_exceeded: limited,
  internal_error: { status: 500, type: 'server_error' },
  identity_provider_unavailable: upstream,
  model_request_refused: bad(400),
  model_error: upstream,
  model_timeout: { status: 504, type: 'upstream_error' },
  tool_outcome_unknown: upstream,
  generation_lost: upstream,
  policy_blocked: forbidden,
  permission_revoked: forbidden,
  response_cancelled: conflict,
  overloaded: unavailable,
  draining: unavailable,
  engine_unavailable: unavailable,
} as const satisfies Record<DomainErrorCode, { status: number; type: ErrorType }>;

/** The object inside the error body. */
export interface ErrorObject {
  type: ErrorType;
  code: DomainErrorCode;
  message: string;
  param: string | null;
  request_id: string;
  missing_permission?: string;
  required_permissions?: string[];
  scope?: { type: string; id: string };
  errors?: FieldError[];
  retry_after?: number;
  call_ids?: string[];
  response_id?: string;
  definitions?: { name: string; schema_hash: string; difference: string }[];
  used_by?: { type: string; id: string; name: string }[];
}

/** Status and error object in the dialect of the requested surface, by the route if there is one. */
export function answerFor(
  request: { url: string; id: string; routeOptions?: { url?: string | undefined } },
  error: DomainError,
): { status: number; body: ErrorObject } {
  const { status, type } = statusOf[error.code];
  if (!isOpenAiPath(request.routeOptions?.url ?? request.url)) {
    return { status, body: toErrorObject(error, request.id) };
  }
  const shown = toOpenAiError(error, status);
  const body = toErrorObject(shown.error, request.id);
  return {
    status: shown.status,
    body: { ...body, type: shown.status === 400 ? 'invalid_request_error' : type },
  };
}

export function toErrorObject(error: DomainError, requestId: string): ErrorObject {
  const { detail } = error;
  return {
    type: statusOf[error.code].type,
    code: error.code,
    message: error.message,
    param: detail.param ?? null,
    request_id: requestId,
    ...(detail.missingPermission === undefined ? {} : { missing_permission: detail.missingPermission }),
    ...(detail.requiredPermissions === undefined ? {} : { required_permissions: detail.requiredPermissions }),
    ...(detail.scope === undefined ? {} : { scope: detail.scope }),
    ...(detail.errors === undefined ? {} : { errors: detail.errors }),
    ...(detail.retryAfter === undefined ? {} : { retry_after: detail.retryAfter }),
    ...(detail.callIds === undefined ? {} : { call_ids: detail.callIds }),
    ...(detail.responseId === undefined ? {} : { response_id: detail.responseId }),
    ...(detail.usedBy === undefined ? {} : { used_by: detail.usedBy }),
    ...(detail.definitions === undefined
      ? {}
      : {
          definitions: detail.definitions.map(({ schemaHash, ...rest }) => ({
            ...rest,
            schema_hash: schemaHash,
          })),
        }),
  };
}

/** Members flattened as RFC 9457 requires; the same object otherwise. */
export function toProblem(error: ErrorObject, status: number): Record<string, unknown> {
  const { type, message, ...rest } = error;
  return {
    type: `urn:platform:error:${error.code}`,
    title: error.code.replaceAll('_', ' '),
    status,
    detail: message,
    class: type,
    ...rest,
  };
}

const problemType = 'application/problem+json';

/** Whether `Accept` names problem details and nothing else before them. */
export function prefersProblem(accept: string | undefined): boolean {
  const weights = new Map(
    (accept ?? '').split(',').map((entry) => {
      const [type = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='));
      return [type, weight === undefined ? 1 : Number(weight.slice(2)) || 0] as const;
    }),
  );
  const problem = weights.get(problemType) ?? 0;
  return problem > 0 && problem >= (weights.get('application/json') ?? 0);
}
