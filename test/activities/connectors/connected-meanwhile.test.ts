import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { finishSync } from '#activities/connectors/finish-sync.ts';
import { mcpProvider } from '#adapters/sources/mcp/provider.ts';
import type { AuthorizationAttempt } from '#domain/capabilities/connections/authorization-attempt.entity.ts';
import { planRun } from '#domain/knowledge/connectors/plan-run.ts';
import { lockReadServer } from '#domain/knowledge/source-connections/lock-read-server.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { ConnectorSpace, testProviders } from '#test/support/sources/connector-space.ts';
import { MemorySource, memoryProvider } from '#test/support/sources/memory-source.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

/** A connector of a tool server of the space, without an account. */
async function reading(options?: Parameters<ConnectorSpace['request']>[0]) {
  const sources = testProviders([memoryProvider(new Map([['m', new MemorySource()]])), mcpProvider]);
  const space = await ConnectorSpace.create(world, sources, {
    providerSlug: 'memory',
    scopeConfig: { name: 'm' },
  });
  const { tenantId, connectorId } = space.ids;
  const { unitOfWork, admin } = world;
  await admin.query(
    `insert into mcp_servers (tenant_id, id, space_id, slug, display_name, url, connection_mode, created_by)
     select tenant_id, id, space_id, 's', 'S', 'https://a.example/mcp', 'shared', principal_id from connectors where id = $1`,
    [connectorId],
  );
  await admin.query(
    `update connectors set provider_slug = 'mcp', scope_config = jsonb_build_object('server_id', id) where id = $1`,
    [connectorId],
  );
  const begin = async (): Promise<string> => {
    const plan = await unitOfWork.inTenant(tenantId, (em) => planRun(em, connectorId));
    if (plan.is !== 'run') throw new Error('No run begins.');
    return plan.runId;
  };
  await space.request(options);
  return {
    space,
    begin,
    runId: await begin(),
    /** An account is connected as by the last step of its authorization; `before` is called when that is stored. */
    connect: (before: () => Promise<unknown> = () => Promise.resolve()) =>
      world.act(space.fixture, async (ctx) => {
        const attempt = { serverId: connectorId, ownerId: null } as unknown as AuthorizationAttempt;
        const holder = await lockReadServer(ctx, attempt);
        await ctx.em.execute(
          `insert into mcp_connections (tenant_id, id, server_id, space_id, connected_by, status, issuer, target, created_at)
           select tenant_id, uuidv7(), id, space_id, principal_id, 'connected', 'https://c.example', '{}', clock_timestamp()
           from connectors where id = ?`,
          [connectorId],
        );
        await holder.connected();
        await before();
      }),
    refuse: (runId: string) =>
      finishSync({ unitOfWork }, { tenantId, connectorId, runId, end: 'failed', errorCode: 'auth_failed' }),
    states: async () => {
      const { status } = await space.read();
      return [status, ...(await space.runs()).map((run) => `${run.trigger} ${run.status}`)];
    },
  };
}

describe('a run that is refused while an account is connected to its tool server', () => {
  it('is repeated with the account when it ends after that', async () => {
    const { runId, connect, refuse, begin, states } = await reading();
    await connect();
    await refuse(runId);
    expect(await states()).toEqual(['pending', 'config_change queued', 'manual cancelled']);
    // The account itself is refused.
    await refuse(await begin());
    expect(await states()).toEqual(['auth_required', 'config_change failed', 'manual cancelled']);
  });

  it('is repeated as it was requested', async () => {
    const { space, runId, connect, refuse } = await reading({ mode: 'full', confirmDeletions: true });
    await connect();
    await refuse(runId);
    const [again] = await space.runs();
    expect(again).toMatchObject({ status: 'queued', mode: 'full', confirmDeletions: true });
  });

  it('is repeated with the account when it ends at the same time', async () => {
    const { runId, connect, refuse, states } = await reading();
    let ending: Promise<unknown> = Promise.resolve();
    await connect(async () => {
      ending = refuse(runId);
      const isWaiting = async () => {
        const { rowCount } = await world.admin.query(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        );
        return (rowCount ?? 0) > 0;
      };
      await Promise.race([ending, expect.poll(isWaiting, { interval: 20 }).toBe(true)]);
    });
    await ending;
    expect(await states()).toEqual(['pending', 'config_change queued', 'manual cancelled']);
  });

  it('leaves its connector to the account when it ends before that', async () => {
    const { runId, connect, refuse, states } = await reading();
    await refuse(runId);
    expect((await states())[0]).toBe('auth_required');
    await connect();
    expect((await states())[0]).toBe('active');
  });
});
