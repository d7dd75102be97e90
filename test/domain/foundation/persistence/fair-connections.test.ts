import type { MikroORM } from '@mikro-orm/postgresql';
import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TooBusy } from '#domain/foundation/kernel/fair-semaphore.ts';
import { isDatabaseUnavailable } from '#domain/foundation/persistence/is-unavailable.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { connect } from '../../../support/tables.ts';

let database: TestDatabase;
let admin: Client;
let orm: MikroORM;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = await connect(database.adminUrl);
  orm = createOrm({ url: database.url, statementTimeoutMs: 30_000, poolSize: 4 });
});
afterAll(async () => {
  await orm?.close(true);
  await admin?.end();
  await database?.drop();
});

it('a tenant whose transactions all wait for a lock leaves a connection to others', async () => {
  const unitOfWork = new UnitOfWork(orm);
  const [busy, other] = [newId(), newId()];
  await admin.query('select pg_advisory_lock(7)');
  const waiting = Array.from({ length: 20 }, () =>
    unitOfWork.inTenant(busy, (em) =>
      em.execute(`set local lock_timeout = 0; select pg_advisory_xact_lock_shared(7)`),
    ),
  );
  const holding = () =>
    admin
      .query(
        `select from pg_stat_activity where query like '%pg_advisory_xact_lock_shared(7)' and state = 'active'`,
      )
      .then(({ rowCount }) => rowCount);
  await expect.poll(holding).toBe(3);
  expect(await unitOfWork.inTenant(other, (em) => em.execute('select 1 as one'))).toEqual([{ one: 1 }]);
  await admin.query('select pg_advisory_unlock(7)');
  await Promise.all(waiting);
  // A transaction that waited too long may be retried.
  expect(isDatabaseUnavailable(new TooBusy())).toBe(true);
});
