/**
 * State of a principal's, or a space's, connection to a tool server. `auth_required`: there is none; `pending`: a popup
 * is open; `auth_expired`: it has to be made again; `scope_required`: a call needed scopes that were not granted;
 * `client_rejected`: the authorization server no longer knows this platform.
 */
export const connectionStatuses = [
  'auth_required',
  'pending',
  'connected',
  'auth_expired',
  'scope_required',
  'client_rejected',
  'revoked',
] as const;
export type ConnectionStatus = (typeof connectionStatuses)[number];

/** Why an attempt to connect ended without a connection; fixed words, never a provider's. */
export type AttemptFailure =
  | 'denied'
  | 'cancelled'
  | 'closed'
  | 'timed_out'
  | 'not_completed'
  | 'replaced'
  | 'issuer_mismatch'
  | 'provider_error'
  | 'provider_unavailable'
  | 'client_rejected'
  | 'grant_rejected'
  | 'scope_rejected'
  | 'protocol_error';

/** Why a connection was withdrawn. */
export type WithdrawalReason =
  | 'disconnected'
  | 'member_removed'
  | 'principal_deleted'
  | 'principal_disabled'
  | 'server_removed'
  | 'connector_deleted'
  | 'mode_changed'
  /** Another one was made, at another authorization server or with another client. */
  | 'replaced';
