import type { EventType } from '#domain/foundation/events/catalogue.ts';

/** Events of the operations on connections of tool servers; what is completed may be the account of a connector. */
export const audits = {
  initiate: ['security.mcp_auth_started', 'security.mcp_auth_failed'],
  complete: [
    'security.mcp_auth_granted',
    'security.mcp_auth_failed',
    'collection.connector_resumed',
    'collection.sync_cancelled',
  ],
  disconnect: ['security.mcp_auth_failed', 'security.mcp_auth_revoked'],
} satisfies Record<string, EventType[]>;
