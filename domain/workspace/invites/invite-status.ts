/** `expired` is what becomes of `pending` after seven days by the database's clock. Only `pending` is ever left. */
export const inviteStatuses = ['pending', 'accepted', 'declined', 'revoked', 'expired'] as const;
export type InviteStatus = (typeof inviteStatuses)[number];
