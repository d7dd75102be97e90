/**
 * `pending` becomes `expired` after seven days by the database's clock. `pending` is the only status with
 * transitions.
 */
export const inviteStatuses = ['pending', 'accepted', 'declined', 'revoked', 'expired'] as const;
export type InviteStatus = (typeof inviteStatuses)[number];
