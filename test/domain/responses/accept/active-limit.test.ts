import { afterAll, beforeAll, expect, it } from 'vitest';
import { createContext } from '#domain/foundation/access/context.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import { openEngine, requestOf, type Engine } from '../../../support/engine.ts';
import { secrets } from '../../../support/world.ts';

const connections = 20;

let engine: Engine;
/** For so many gateways. */
let orms: ReturnType<typeof createOrm>[];

beforeAll(async () => {
  engine = await openEngine();
  const options = { url: engine.database.url, statementTimeoutMs: 30_000, poolSize: connections };
  orms = Array.from({ length: 3 }, () => createOrm(options));
});
afterAll(async () => {
  await Promise.all((orms ?? []).map((orm) => orm.close(true)));
  await engine?.stop();
});

/**
 * So many requests at once, to all gateways in turn.
 * @returns the outcome of each
 */
function ask(count: number, limits: { maxActivePerSpace: number; maxActivePerTenant?: number }) {
  const gateways = orms.map((orm) => new UnitOfWork(orm));
  const { world } = engine;
  return Promise.all(
    Array.from({ length: count }, (_, i) =>
      gateways[i % gateways.length]!.inTenant(world.tenantId, async (em) => {
        const identity = { ...world.owner, apiKeyId: null, keyPermissions: null };
        const caller = await loadCaller(em, identity, { via: 'api', requestId: 'req_test' }, world.spaceId);
        const ctx = createContext({ caller, em, secrets });
        const options = { responseId: newResponseId(), limits: { ...limits, retentionSeconds: 86_400 } };
        await createResponse(ctx, requestOf(world), options);
        return 'accepted';
      }).catch(({ code, detail }: { code: string; detail?: { reached?: { type: string } } }) =>
        [code, detail?.reached?.type].join(' '),
      ),
    ),
  );
}

const running = async () =>
  (
    await engine.admin.query<{ n: number }>(
      'select count(*)::int as n from responses where finished_at is null',
    )
  ).rows[0]!.n;
const end = () =>
  engine.admin.query(
    `update responses set status = 'cancelled', finished_at = now() where finished_at is null`,
  );

it.each([
  ['a space', { maxActivePerSpace: 50 }, 'too_many_active_responses space'],
  ['a tenant', { maxActivePerSpace: 1_000, maxActivePerTenant: 50 }, 'too_many_active_responses tenant'],
])(
  'no more responses than %s may have are accepted, for any number of concurrent requests at several gateways',
  async (_of, limits, refusal) => {
    await end();
    const received = await ask(3 * connections, limits);
    // On a busy machine some requests exceed their maximum wait.
    do received.push(...(await ask(1, limits)));
    while (received.at(-1) !== refusal);
    expect(received.filter((each) => each === 'accepted')).toHaveLength(50);
    expect(await running()).toBe(50);
  },
);

it('no request waits for another one far below a limit', async () => {
  await end();
  const { tenantId, spaceId } = engine.world;
  await engine.admin.query('begin');
  try {
    await engine.admin.query('select app.count_active($1, $2, 1000)', [tenantId, spaceId]);
    await engine.admin.query('select app.count_active($1, null, 1000)', [tenantId]);
    const received = await ask(5, { maxActivePerSpace: 1_000, maxActivePerTenant: 1_000 });
    expect(received).toEqual(Array.from({ length: 5 }, () => 'accepted'));
  } finally {
    await engine.admin.query('rollback');
  }
});
