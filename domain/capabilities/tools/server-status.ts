/** Life cycle of a connected tool server. `auth_required`: it refused the credential, or requires one. */
export const serverStatuses = ['pending', 'auth_required', 'connected', 'error', 'disabled'] as const;
export type ServerStatus = (typeof serverStatuses)[number];

const transitions: Readonly<Record<ServerStatus, readonly ServerStatus[]>> = {
  pending: ['connected', 'auth_required', 'error', 'disabled'],
  auth_required: ['connected', 'auth_required', 'error', 'pending', 'disabled'],
  connected: ['connected', 'auth_required', 'error', 'disabled'],
  error: ['connected', 'auth_required', 'error', 'disabled'],
  disabled: ['pending'],
};

export function canBecome(from: ServerStatus, to: ServerStatus): boolean {
  return transitions[from].includes(to);
}

/**
 * `changed`: an enabled tool whose definition differs from the approved one; it is offered to no model until the
 * enabled tools are saved again. `removed`: its server lists it no longer.
 */
export const toolStates = ['new', 'approved', 'changed', 'removed'] as const;
export type ToolState = (typeof toolStates)[number];

/** Why a discovery failed. Fixed words: no text of the server. */
export const serverErrors = [
  'unreachable',
  'url_not_allowed',
  'credential_missing',
  'unauthorized',
  /** A person has to connect an account, or to grant more scopes. */
  'authorization_required',
  /** The authorization server of its connection does not answer. */
  'authorization_unavailable',
  'http_error',
  'protocol_error',
  'timeout',
  'too_large',
] as const;
export type ServerError = (typeof serverErrors)[number];

/**
 * How calls are authorized with OAuth: `personal`, with an account of the principal that asks; `shared`, with one
 * account for the space; `none`, not at all.
 */
export const connectionModes = ['none', 'personal', 'shared'] as const;
export type ConnectionMode = (typeof connectionModes)[number];

/** What the challenge of a refusal said (RFC 6750, RFC 9728). */
export interface ServerChallenge {
  metadataUrl: string | null;
  scope: string | null;
  error: string | null;
  /** It demands proofs of possession (RFC 9449). */
  dpop: boolean;
}
