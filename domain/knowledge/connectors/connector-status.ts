/**
 * Status of a connector; its runs have their own:
 * - `pending`: no run has ended well yet
 * - `active`
 * - `paused`: by a person
 * - `auth_required`: the source refuses the credential
 * - `error`: its scope is invalid, or it has failed too often
 * - `deleting`
 */
export const connectorStatuses = [
  'pending',
  'active',
  'paused',
  'auth_required',
  'error',
  'deleting',
] as const;
export type ConnectorStatus = (typeof connectorStatuses)[number];

const transitions: Readonly<Record<ConnectorStatus, readonly ConnectorStatus[]>> = {
  pending: ['active', 'paused', 'auth_required', 'error', 'deleting'],
  active: ['paused', 'auth_required', 'error', 'deleting'],
  paused: ['active', 'deleting'],
  auth_required: ['active', 'paused', 'error', 'deleting'],
  error: ['active', 'paused', 'auth_required', 'deleting'],
  deleting: [],
};

export function canBecome(from: ConnectorStatus, to: ConnectorStatus): boolean {
  return from === to || transitions[from].includes(to);
}

/** Whether runs are begun in this status. */
export function isRunnable(status: ConnectorStatus): boolean {
  return status === 'pending' || status === 'active';
}
