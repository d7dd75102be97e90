/** `cancelled`: the tenant was restored before the erasure began. `deleted`: the certificate is signed. */
export const deletionStatuses = ['deletion_scheduled', 'deleting', 'deleted', 'cancelled'] as const;
export type DeletionStatus = (typeof deletionStatuses)[number];

/** What a deletion does at the moment, in this order; only `scheduled` can be cancelled. */
export const deletionSteps = [
  'scheduled',
  'stopping',
  'revoking',
  'counting',
  'destroying_key',
  'erasing',
  'deleting_histories',
  'verifying',
  'certifying',
  'finished',
] as const;
export type DeletionStep = (typeof deletionSteps)[number];

/**
 * Something that other systems hold of the tenant, and whether it was withdrawn there. `not_revocable`: the
 * authorization server revokes none of the tokens, so they end when they expire.
 */
export interface Revocation {
  kind: 'connection';
  id: string;
  outcome: 'revoked' | 'not_revocable' | 'refused' | 'unreachable' | 'unreadable' | 'nothing_to_revoke';
}
