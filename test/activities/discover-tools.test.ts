import { once } from 'node:events';
import { CancelledFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createActivities, type ActivityDependencies } from '#activities/index.ts';
import { ToolServerFailure, type ToolServerGateway } from '#domain/capabilities/tools/tool-server.ts';
import { connectServer, tool, type Connected } from '../support/connected-server.ts';
import { openEngine, type Engine } from '../support/engine.ts';

let engine: Engine;
let connected: Connected;

beforeAll(async () => {
  engine = await openEngine();
  connected = await connectServer(engine, { slug: 'crm', tools: [tool('pay')] });
});
afterAll(() => engine.stop());

const { promise: asked, resolve: wasAsked } = Promise.withResolvers<void>();

/** A server that never answers; a client that stops waiting sees a lost connection. */
const silent: Pick<ToolServerGateway, 'discover'> = {
  discover: (_, signal) =>
    new Promise((_resolve, reject) => {
      const lost = () => reject(new ToolServerFailure('unreachable', { sent: true }));
      signal.addEventListener('abort', lost, { once: true });
      wasAsked();
    }),
};

it('a discovery that this side abandons records nothing of the server, and sends heartbeats while it waits', async () => {
  const { unitOfWork } = engine.database;
  const activities = createActivities({ unitOfWork, toolServers: silent } as unknown as ActivityDependencies);
  const environment = new MockActivityEnvironment();
  const { tenantId, spaceId } = engine.world;
  const input = { tenantId, spaceId, serverId: connected.serverId, number: 1 };
  const discovery = environment.run(() => activities.discoverTools(input));
  await asked;
  await once(environment, 'heartbeat');
  await once(environment, 'heartbeat');
  environment.cancel();
  await expect(discovery).rejects.toThrow(CancelledFailure);
  const { rows } = await engine.admin.query('select status, last_error from mcp_servers where id = $1', [
    connected.serverId,
  ]);
  expect(rows).toEqual([{ status: 'connected', last_error: null }]);
});
