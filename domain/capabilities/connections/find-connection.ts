import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { ConnectionIdentity } from '#domain/capabilities/tools/tool-server.ts';
import type { McpServer } from '#domain/capabilities/tools/mcp-server.entity.ts';
import { Connection } from './connection.entity.ts';

/** The connection of a connector: its tokens are for one origin, to which alone they are sent. */
export interface SourceIdentity {
  tenantId: string;
  connectorId: string;
  /** Of the source. */
  origin: string;
}

/** Whose tokens are used: those of a tool server and an owner, or of a connector. */
export type HolderIdentity = ConnectionIdentity | SourceIdentity;

/** The same within a tenant. */
export type ConnectionKey = Omit<ConnectionIdentity, 'tenantId'> | Omit<SourceIdentity, 'tenantId'>;

/** The principal whose connection a server uses in a call for `principalId`; null: the space's. */
export function ownerFor(server: Pick<McpServer, 'connectionMode'>, principalId: string): string | null {
  return server.connectionMode === 'personal' ? principalId : null;
}

function columnsOf(key: ConnectionKey) {
  return 'connectorId' in key
    ? { connectorId: key.connectorId, resource: key.origin }
    : { serverId: key.serverId, ownerId: key.ownerId };
}

/** The present connection of an owner; withdrawn ones are not found. */
export function findConnection(
  em: EntityManager,
  key: ConnectionKey,
  { lock = false } = {},
): Promise<Connection | null> {
  const where = { ...columnsOf(key), withdrawnAt: null };
  return em.findOne(
    Connection,
    where,
    lock ? { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true } : { refresh: true },
  );
}
