import type { EventType } from '#domain/foundation/events/catalogue.ts';

/** What the operations on credentials record, those of a space and those of the tenant alike. */
export const audits = {
  reads: { none: 'reads' },
  create: ['security.credential_created'],
  update: ['security.credential_updated', 'security.credential_rotated'],
  delete: ['security.credential_deleted'],
} satisfies Record<string, EventType[] | { none: string }>;
