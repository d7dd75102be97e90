/**
 * The one error taxonomy. Every failure that a caller can see is a `DomainError` with a code of the closed list; each
 * boundary (HTTP, Temporal) maps codes exhaustively.
 */
export type DomainErrorCode =
  | 'malformed_http'
  | 'invalid_header'
  | 'request_timeout'
  | 'expectation_failed'
  | 'not_authenticated'
  | 'invalid_credentials'
  | 'ambiguous_credentials'
  | 'token_expired'
  | 'login_transaction_required'
  | 'id_token_invalid'
  | 'missing_permission'
  | 'tenant_mismatch'
  | 'tenant_deleting'
  | 'tenant_suspended'
  | 'principal_disabled'
  | 'identity_provider_unconfirmed'
  | 'model_not_allowed'
  | 'tool_not_granted'
  | 'content_blocked'
  | 'redirect_uri_not_allowed'
  | 'invite_identity_mismatch'
  | 'tenant_not_found'
  | 'deletion_not_found'
  | 'principal_not_found'
  | 'api_key_not_found'
  | 'identity_provider_not_found'
  | 'session_not_found'
  | 'member_not_found'
  | 'role_not_found'
  | 'invite_not_found'
  | 'invite_expired'
  | 'workflow_not_found'
  | 'space_not_found'
  | 'collection_not_found'
  | 'document_not_found'
  | 'connector_not_found'
  | 'sync_run_not_found'
  | 'model_not_found'
  | 'mcp_server_not_found'
  | 'credential_not_found'
  | 'connection_not_found'
  | 'authorization_attempt_not_found'
  | 'thread_not_found'
  | 'branch_not_found'
  | 'message_not_found'
  | 'project_not_found'
  | 'skill_not_found'
  | 'skill_version_not_found'
  | 'observability_config_not_found'
  | 'notification_not_found'
  | 'response_not_found'
  | 'event_not_found'
  | 'previous_response_not_found'
  | 'response_expired'
  | 'response_deleted'
  | 'route_not_found'
  | 'method_not_allowed'
  | 'not_acceptable'
  | 'unsupported_media_type'
  | 'invalid_state'
  | 'already_exists'
  | 'idempotency_in_progress'
  | 'response_not_cancellable'
  | 'previous_response_in_progress'
  | 'thread_archived'
  | 'tool_definition_conflict'
  | 'credential_in_use'
  | 'mcp_server_in_use'
  | 'connector_check_failed'
  | 'authorization_client_required'
  | 'authorization_failed'
  | 'payload_too_large'
  | 'headers_too_large'
  | 'invalid_request'
  | 'unknown_parameter'
  | 'unsupported_parameter'
  | 'unsupported_document_type'
  | 'invalid_cursor'
  | 'cursor_out_of_range'
  | 'cursor_without_response'
  | 'idempotency_key_reused'
  | 'idempotency_key_conflict'
  | 'model_required'
  | 'context_length_exceeded'
  | 'tool_output_missing'
  | 'tools_unavailable'
  | 'remote_url_not_allowed'
  | 'transport_not_allowed'
  | 'url_not_allowed'
  | 'rate_limited'
  | 'too_many_active_responses'
  | 'too_many_failed_attempts'
  // Reserved: budgets do not exist yet. A response that has spent its own `max_cost_usd` ends `incomplete`.
  | 'budget_exceeded'
  | 'internal_error'
  | 'identity_provider_unavailable'
  // End states of a response that its creator waited for, on the surface for OpenAI's clients.
  | 'model_request_refused'
  | 'model_error'
  | 'model_timeout'
  | 'tool_outcome_unknown'
  | 'generation_lost'
  | 'policy_blocked'
  | 'permission_revoked'
  | 'response_cancelled'
  | 'overloaded'
  | 'draining'
  | 'engine_unavailable';

/** One problem of a 422: its place (`pointer` is a JSON pointer) and its description. */
export interface FieldError {
  in: 'body' | 'query' | 'path' | 'header';
  pointer: string;
  code: string;
  message: string;
}

/** Details beyond code and message; only the members that its code defines are set. */
export interface ErrorDetail {
  param?: string;
  errors?: FieldError[];
  missingPermission?: string;
  requiredPermissions?: string[];
  scope?: { type: 'tenant' | 'space' | 'collection' | 'project'; id: string };
  /** The owner of the limit that was reached, for the event log. */
  reached?: { type: 'tenant' | 'space'; id: string; limit: number };
  /** Seconds. */
  retryAfter?: number;
  callIds?: string[];
  /** The current tool definitions, with their difference from the approved ones. */
  definitions?: { name: string; schemaHash: string; difference: string }[];
  /** The users of a resource to be deleted, as far as the caller may see them. */
  usedBy?: { type: 'mcp_server' | 'model' | 'connector'; id: string; name: string }[];
  allow?: string[];
  /** The response whose end this error reports. */
  responseId?: string;
  /** Whether a client may repeat the request automatically; unset where the status says enough. */
  mayRepeat?: boolean;
}

export class DomainError extends Error {
  readonly code: DomainErrorCode;
  readonly detail: ErrorDetail;

  /**
   * `message` is fixed text plus the platform's identifiers; of the input it holds at most a number or a field's
   * name: never other input, SQL, host names or a stack.
   */
  constructor(code: DomainErrorCode, message: string, detail: ErrorDetail = {}, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DomainError';
    this.code = code;
    this.detail = detail;
  }
}

/**
 * A 404 that is the same for an unknown id, another tenant's and another space's.
 * @param param the field of the body that names it; omitted: the path does
 */
export function notFound(code: Extract<DomainErrorCode, `${string}_not_found`>, param?: string): DomainError {
  const thing = code.replace(/_not_found$/, '').replaceAll('_', ' ');
  return new DomainError(code, `No such ${thing}.`, param === undefined ? {} : { param });
}

export function invalid(param: string, message: string): DomainError {
  return new DomainError('invalid_request', message, {
    param,
    errors: [{ in: 'body', pointer: `/${param.replaceAll('.', '/')}`, code: 'invalid', message }],
  });
}

export function unsupported(param: string, message = `${param} is not supported.`): DomainError {
  return new DomainError('unsupported_parameter', message, { param });
}

/** One body for every cause, so that a caller learns nothing about which part was wrong. */
export function invalidCredentials(): DomainError {
  return new DomainError('invalid_credentials', 'The credentials are not valid.');
}
