import { afterAll, beforeAll, expect, it } from 'vitest';
import { permissions } from '#domain/foundation/access/permissions.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { registerModel } from '#domain/capabilities/models/register-model.ts';
import { isDatabaseUnavailable } from '#domain/foundation/persistence/is-unavailable.ts';
import { addMember } from '#domain/workspace/members/add-member.ts';
import { registerServer } from '#domain/capabilities/tools/register-server.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());

const newcomer = newId();
const making: Record<string, (ctx: Context) => Promise<unknown>> = {
  'a tool server': (ctx) =>
    registerServer(ctx, {
      slug: 'crm',
      displayName: 'CRM',
      transportType: 'streamable_http',
      url: 'https://tools.example.com/mcp',
      iconUrl: null,
      credential: null,
      idempotency: null,
    }),
  'a model': (ctx) =>
    registerModel(ctx, {
      alias: 'twin',
      providerKind: 'anthropic',
      providerModel: 'claude-opus-4-6',
      price: { input: '1', output: '1' },
    }),
  'a member': (ctx) => addMember(ctx, { principalId: newcomer, roleKey: 'space_viewer' }),
};

it.each(Object.keys(making))(
  'of %s that is made twice at once there is one, and one refusal',
  async (what) => {
    await engine.admin.query(
      `insert into principals (tenant_id, id, type, name) values ($1, $2, 'user', 'New') on conflict do nothing`,
      [engine.world.tenantId, newcomer],
    );
    let arrived = 0;
    const both = Promise.withResolvers<void>();
    const make = () =>
      engine.act(
        async (ctx) => {
          if ((arrived += 1) === 2) both.resolve();
          await both.promise;
          return making[what]!(ctx);
        },
        { granted: new Set(permissions) },
      );
    const ends = await Promise.allSettled([make(), make()]);
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(ends.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'already_exists' },
    });
  },
);

it('a transaction that was aborted for another one may be retried', async () => {
  const { unitOfWork } = engine.database;
  const lock = (first: number, second: number) =>
    unitOfWork.inTenant(engine.world.tenantId, async (em) => {
      await em.execute('select pg_advisory_xact_lock(7, ?)', [first]);
      await new Promise((resolve) => setTimeout(resolve, 200));
      await em.execute('select pg_advisory_xact_lock(7, ?)', [second]);
    });
  const ends = await Promise.allSettled([lock(1, 2), lock(2, 1)]);
  const lost = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
  expect(lost.map(isDatabaseUnavailable)).toEqual([true]);
});
