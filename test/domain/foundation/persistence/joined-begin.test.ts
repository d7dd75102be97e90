import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BoundedClass } from '#domain/foundation/persistence/bounded-client.ts';
import { joinedBegin } from '#domain/foundation/persistence/joined-begin.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { countStatements, type StatementCounter } from '../../../support/statement-counter.ts';

let database: TestDatabase;
let counter: StatementCounter;
let orm: ReturnType<typeof createOrm>;
let unitOfWork: UnitOfWork;
const tenantId = newId();

beforeAll(async () => {
  database = await createTestDatabase();
  counter = await countStatements(database.url);
  // A single connection: what a transaction leaves behind would show in the next one.
  orm = createOrm({ url: counter.url, statementTimeoutMs: 5_000, poolSize: 1 });
  unitOfWork = new UnitOfWork(orm);
  await unitOfWork.inTenant(tenantId, (em) => em.execute('select 1'));
});
afterAll(async () => {
  await orm?.close(true);
  await counter?.close();
  await database?.drop();
});

const state = `select current_setting('app.tenant_id', true) as tenant,
  now() = statement_timestamp() as "isFirst"`;

it('a transaction of a tenant begins in the message that sets the tenant', async () => {
  const messages = await counter.during(() => unitOfWork.inTenant(tenantId, (em) => em.execute('select 1')));
  expect(messages).toBe(3);
});

it('both statements of a transaction belong to it, and end with it', async () => {
  const [first, second] = await unitOfWork.inTenant(tenantId, async (em) => [
    await em.execute<{ at: string; tenant: string }[]>(
      `select now()::text as at, current_setting('app.tenant_id') as tenant`,
    ),
    await em.execute<{ at: string; tenant: string }[]>(
      `select now()::text as at, current_setting('app.tenant_id') as tenant`,
    ),
  ]);
  expect(first).toEqual(second);
  expect(first[0]!.tenant).toBe(tenantId);
  const [after] = await unitOfWork.acrossTenants((em) => em.execute<{ tenant: string | null }[]>(state));
  expect(after).toMatchObject({ tenant: '', isFirst: true });
});

it('a transaction without a tenant begins before its first statement', async () => {
  const messages = await counter.during(() =>
    unitOfWork.acrossTenants((em) =>
      em.transactional(async (inside) => {
        const [{ at }] = (await inside.execute<{ at: string }[]>('select now()::text as at')) as [
          { at: string },
        ];
        expect(await inside.execute('select now()::text as at')).toEqual([{ at }]);
      }),
    ),
  );
  expect(messages).toBe(4);
});

it.each([
  ['commit', () => Promise.resolve()],
  ['rollback', () => Promise.reject(new Error('changed its mind'))],
])('a transaction without any statement leaves nothing open by %s', async (_ending, work) => {
  await unitOfWork.acrossTenants((em) => em.transactional(work)).catch(() => undefined);
  const [after] = await unitOfWork.acrossTenants((em) => em.execute<{ isFirst: boolean }[]>(state));
  expect(after).toMatchObject({ isFirst: true });
});

it('a refused tenant is rolled back, and the connection is used again', async () => {
  await expect(
    unitOfWork.acrossTenants((em) => {
      const fork = em.fork({ session: { variables: { 'not a name': 'x' } } });
      return fork.transactional((inside) => inside.execute('select 1'));
    }),
  ).rejects.toThrow('not a name');
  const [after] = await unitOfWork.acrossTenants((em) => em.execute<{ isFirst: boolean }[]>(state));
  expect(after).toMatchObject({ isFirst: true });
});

describe('what is sent', () => {
  /** A client that answers at once, and refuses what it is to refuse. */
  function sending(refused: string | null = null) {
    const sent: unknown[] = [];
    class Recorder {
      query(...[first, , callback]: unknown[]): unknown {
        sent.push(first);
        if (typeof callback === 'function') return (callback as () => void)();
        return first === refused ? Promise.reject(new Error('refused')) : Promise.resolve({ rows: [] });
      }
    }
    const Client = joinedBegin(Recorder as unknown as BoundedClass);
    return { sent, client: new Client() };
  }

  const tenant = "select set_config('app.tenant_id', 'x', true)";

  it.each([
    ['alone', 'begin', 'insert into a values (1)'],
    ['with the tenant', `begin; ${tenant}`, tenant],
  ])('runs no statement after a refused begin %s, until the transaction ends', async (_, begin, first) => {
    const { sent, client } = sending(begin);
    await client.query('begin');
    for (const text of [first, 'insert into a values (2)', 'commit']) {
      await expect(client.query(text, [])).rejects.toThrow('refused');
    }
    expect(sent).toEqual([begin]);
    await client.query('rollback');
    await client.query('select 1');
    expect(sent).toEqual([begin, 'rollback', 'select 1']);
  });

  it('runs the statements of the transaction after one that was refused and not rolled back', async () => {
    const { sent, client } = sending(`begin; ${tenant}`);
    await client.query('begin');
    await expect(client.query(tenant)).rejects.toThrow('refused');
    await client.query('begin');
    await client.query('select 1');
    expect(sent).toEqual([`begin; ${tenant}`, 'begin', 'select 1']);
  });

  it('leaves calls with a callback as they are', async () => {
    const { sent, client } = sending();
    await new Promise<void>((done) => client.query('begin', [], () => done()));
    expect(sent).toEqual(['begin']);
  });

  it('sends values apart from the begin', async () => {
    const { sent, client } = sending();
    await client.query('begin');
    await client.query('select set_config($1, $2, true)', ['app.tenant_id', 'x']);
    expect(sent).toEqual(['begin', 'select set_config($1, $2, true)']);
  });
});
