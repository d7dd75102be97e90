import type { MikroORM } from '@mikro-orm/postgresql';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sealEvents } from '#domain/foundation/events/seal-events.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { openField } from '#domain/foundation/secrets/open-fields.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import { destroyDataKey } from '#domain/operations/erasure/destroy-data-key.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { connect } from '../../../support/tables.ts';
import { createWorld, secrets, type World } from '../../../support/world.ts';

let database: TestDatabase;
let orm: MikroORM;
let purge: UnitOfWork;
let admin: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  orm = createOrm({ url: database.purgeUrl, statementTimeoutMs: 10_000 });
  purge = new UnitOfWork(orm);
  admin = await connect(database.adminUrl);
});
afterAll(async () => {
  await admin?.end();
  await orm?.close(true);
  await database?.drop();
});

const placeIn = ({ tenantId, spaceId }: World) => ({
  tenantId,
  table: 'spaces',
  column: 'name',
  row: spaceId,
});
const seal = (world: World, principalId: string | null = null) =>
  database.unitOfWork.inTenant(world.tenantId, (em) =>
    sealField({ em, secrets }, placeIn(world), 'a secret', principalId),
  );
const open = (world: World, sealed: string) =>
  database.unitOfWork.inTenant(world.tenantId, (em) => openField({ em, secrets }, placeIn(world), sealed));
const destroy = (world: World) => purge.inTenant(world.tenantId, (em) => destroyDataKey(em, world.tenantId));
const setStatus = (world: World, status: string) =>
  admin.query('update tenants set status = $2 where tenant_id = $1', [world.tenantId, status]);

describe('destroying the keys of a tenant', () => {
  it('makes everything sealed under them unreadable at once, and nothing of others', async () => {
    const gone = await createWorld(database.unitOfWork);
    const other = await createWorld(database.unitOfWork);
    const sealed = [await seal(gone), await seal(gone, gone.owner.principalId)];
    const theirs = await seal(other);
    expect(await Promise.all(sealed.map((text) => open(gone, text)))).toEqual(['a secret', 'a secret']);
    const { keyIds } = await destroy(gone);
    expect(keyIds).toEqual(expect.arrayContaining(sealed.map((text) => text.split('|')[1])));
    expect(await Promise.all(sealed.map((text) => open(gone, text)))).toEqual([null, null]);
    expect(await open(other, theirs)).toBe('a secret');
    expect((await destroy(gone)).keyIds).toEqual([]);
  });

  it('includes the key that an open transaction is making', async () => {
    const gone = await createWorld(database.unitOfWork);
    let destroyed: Promise<{ keyIds: string[] }> | undefined;
    const sealed = await database.unitOfWork.inTenant(gone.tenantId, async (em) => {
      const text = await sealField({ em, secrets }, placeIn(gone), 'a secret');
      destroyed = destroy(gone);
      const [row] = await em.execute<{ waits: boolean }[]>(
        `select pg_sleep(0.2) is not null as done, exists (
           select from pg_locks l where not l.granted and pg_backend_pid() = any (pg_blocking_pids(l.pid))) as waits`,
      );
      expect(row?.waits).toBe(true);
      return text;
    });
    expect((await destroyed)?.keyIds).toContain(sealed.split('|')[1]);
    expect(await open(gone, sealed)).toBeNull();
  });

  it('is final: no key takes their place once the tenant is being erased', async () => {
    const gone = await createWorld(database.unitOfWork);
    await setStatus(gone, 'deleting');
    await destroy(gone);
    await expect(seal(gone)).rejects.toMatchObject({ code: 'invalid_credentials' });
    // The upkeep, which seals names, leaves the tenant alone.
    await admin.query(`update principals set sealed_name = null where tenant_id = $1`, [gone.tenantId]);
    expect(await sealEvents({ purge, secrets })).toMatchObject({ failed: 0 });
    const { rows } = await admin.query('select from data_keys where tenant_id = $1', [gone.tenantId]);
    expect(rows).toEqual([]);
  });
});
