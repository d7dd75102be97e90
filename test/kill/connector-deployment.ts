import { openWorld, type KnowledgeWorld } from '../support/knowledge-world.ts';
import { masterKey, startStack, type Stack } from '../support/stack.ts';
import { prepareTemplate } from '../support/test-servers.ts';
import {
  queryOf,
  startFileTemporal,
  startOwnPostgres,
  temporaryFolder,
  type Deployment,
} from './deployment.ts';

/** Workers and servers of one run of connectors; use cases act in this process, and relays send their messages. */
export interface ConnectorDeployment extends Pick<Deployment, 'postgres' | 'temporal' | 'query'> {
  stack: Stack;
  world: KnowledgeWorld;
  stop(): Promise<void>;
}

export async function deployConnectors(egress: readonly string[]): Promise<ConnectorDeployment> {
  const folder = temporaryFolder();
  const undo: (() => Promise<unknown> | void)[] = [folder.remove];
  const stop = async () => {
    for (const step of undo.toReversed()) await step();
    undo.length = 0;
  };
  try {
    const [postgres, temporal] = await Promise.all([
      startOwnPostgres(folder.path),
      startFileTemporal(folder.path),
    ]);
    undo.push(() => Promise.all([postgres.stop(), temporal.stop()]));
    const server = await prepareTemplate(postgres.current.adminUrl);
    const world = await openWorld({ masterKey, server, dispatch: 'relays' });
    // Its server is killed.
    world.admin.on('error', () => undefined);
    const { database } = world;
    undo.push(() =>
      Promise.allSettled([world.admin.end(), database.database.close(), database.orm.close(true)]),
    );
    const stack = await startStack({
      database,
      gateways: 0,
      workers: 2,
      temporalAddress: temporal.current.address,
      env: { EGRESS_ALLOW: egress.join(',') },
    });
    undo.push(() => stack.stop());
    const query = queryOf(database.adminUrl);
    return { postgres, temporal, stack, world, query, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
