import { LockMode } from '@mikro-orm/core';
import type { LockHolder } from '#domain/capabilities/connections/complete-authorization.ts';
import { lockServerHolder } from '#domain/capabilities/server-connections/lock-server.ts';
import { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { resumeConnector } from './resume-connector.ts';

/**
 * The holder of an attempt at a tool server. With the space's account, connectors that have waited for it go on by
 * themselves.
 * @throws `missing_permission`, `mcp_server_not_found`
 */
export const lockReadServer: LockHolder = async (ctx, attempt) => {
  const holder = await lockServerHolder(ctx, attempt);
  return {
    ...holder,
    connected: async () => {
      await holder.connected();
      if (attempt.ownerId != null) {
        return;
      }
      // A change of a connector locks the connector before its server: what it holds is not waited for.
      const waiting = await ctx.em.find(
        Connector,
        { serverId: attempt.serverId ?? null, status: 'auth_required' },
        { lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE, orderBy: { id: 'asc' } },
      );
      for (const connector of waiting) {
        await resumeConnector(ctx, connector);
      }
    },
  };
};
