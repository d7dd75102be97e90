import type { EventType } from '#domain/foundation/events/catalogue.ts';

/** Events of the operations on credentials, in a space or tenant-wide. */
export const audits = {
  reads: { none: 'reads' },
  create: ['security.credential_created'],
  update: ['security.credential_updated', 'security.credential_rotated'],
  delete: ['security.credential_deleted'],
} satisfies Record<string, EventType[] | { none: string }>;
