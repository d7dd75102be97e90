import type { EventType } from '#domain/foundation/events/catalogue.ts';

/** Events of the operations on connectors. A queued run that is cancelled ends at once. */
export const audits = {
  reads: { none: 'reads' },
  create: ['collection.connector_created'],
  update: [
    'collection.connector_updated',
    'collection.connector_paused',
    'collection.connector_resumed',
    'collection.connector_auth_required',
    'collection.sync_cancelled',
    'security.mcp_auth_failed',
    'security.mcp_auth_revoked',
  ],
  delete: [
    'collection.connector_deleted',
    'collection.sync_cancelled',
    'security.mcp_auth_failed',
    'security.mcp_auth_revoked',
  ],
  initiateConnection: ['security.mcp_auth_started', 'security.mcp_auth_failed'],
  disconnect: [
    'security.mcp_auth_failed',
    'security.mcp_auth_revoked',
    'collection.connector_auth_required',
    'collection.sync_cancelled',
  ],
  sync: { none: 'the end of the run is recorded' },
  cancel: ['collection.sync_cancelled'],
  check: { none: 'nothing is stored' },
} satisfies Record<string, EventType[] | { none: string }>;

/** Of the operation that lists providers. */
export const ownProviders = 'a description of the platform, the same for every caller';
