import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { McpServer } from '#domain/capabilities/tools/mcp-server.entity.ts';
import { Connection } from './connection.entity.ts';

/** The principal whose connection a server uses in a call for `principalId`; null: the space's. */
export function ownerFor(server: Pick<McpServer, 'connectionMode'>, principalId: string): string | null {
  return server.connectionMode === 'personal' ? principalId : null;
}

/** The present connection of an owner; withdrawn ones are not found. */
export function findConnection(
  em: EntityManager,
  { serverId, ownerId }: { serverId: string; ownerId: string | null },
  { lock = false } = {},
): Promise<Connection | null> {
  const where = { serverId, ownerId, withdrawnAt: null };
  return em.findOne(
    Connection,
    where,
    lock ? { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true } : { refresh: true },
  );
}
