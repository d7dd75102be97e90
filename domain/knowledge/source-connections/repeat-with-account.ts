import type { EntityManager } from '@mikro-orm/postgresql';
import { findConnection } from '#domain/capabilities/connections/find-connection.ts';
import { shareServer } from '#domain/capabilities/tools/space-server.ts';
import type { Connector } from '#domain/knowledge/connectors/connector.entity.ts';
import { finishRun } from '#domain/knowledge/connectors/finish-run.ts';
import { isRunnable } from '#domain/knowledge/connectors/connector-status.ts';
import { queueRun } from '#domain/knowledge/connectors/queue-run.ts';
import type { SyncRun } from '#domain/knowledge/connectors/sync-run.entity.ts';

/**
 * Ends the run of a locked connector that was refused, where an account of the space was connected to its tool server
 * since the run has begun: that account has found no connector that waits for it, and was not refused. The run counts as
 * cancelled, and another one follows, with the same request. @returns whether it was so
 */
export async function repeatWithAccount(
  em: EntityManager,
  connector: Connector,
  run: SyncRun,
): Promise<boolean> {
  const { serverId = null } = connector;
  if (
    serverId === null ||
    run.status !== 'running' ||
    run.startedAt == null ||
    !isRunnable(connector.status)
  ) {
    return false;
  }
  // An account that is being connected has the server locked: it is found, or it finds the connector waiting.
  await shareServer(em, serverId);
  const connection = await findConnection(em, { serverId, ownerId: null });
  if (connection?.status !== 'connected' || connection.createdAt < run.startedAt) {
    return false;
  }
  await finishRun(em, connector, run, { status: 'cancelled' });
  connector.checkpoint = null;
  const { connectedBy: createdBy } = connection;
  const { mode, confirmDeletions } = run;
  await queueRun(em, connector, { trigger: 'config_change', mode, confirmDeletions, createdBy });
  return true;
}
