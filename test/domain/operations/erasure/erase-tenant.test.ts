import type { MikroORM } from '@mikro-orm/postgresql';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { eraseBatch } from '#domain/operations/erasure/erase-batch.ts';
import { planErasure } from '#domain/operations/erasure/plan-erasure.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { connect } from '../../../support/tables.ts';
import { countTenantRows, danglingKeys, fillTenant } from '../../../support/tenant-rows.ts';
import { createWorld, type World } from '../../../support/world.ts';

let database: TestDatabase;
let orm: MikroORM;
let purge: UnitOfWork;
let admin: Client;
let gone: World;
let other: World;

beforeAll(async () => {
  database = await createTestDatabase();
  orm = createOrm({ url: database.purgeUrl, statementTimeoutMs: 10_000 });
  purge = new UnitOfWork(orm);
  admin = await connect(database.adminUrl);
  gone = await createWorld(database.unitOfWork);
  other = await createWorld(database.unitOfWork);
});
afterAll(async () => {
  await admin?.end();
  await orm?.close(true);
  await database?.drop();
});

async function eraseAll(tenantId: string): Promise<void> {
  const root = { kind: 'tenant' as const, tenantId };
  const plan = await purge.acrossTenants((em) => planErasure(em, root));
  for (const step of plan) {
    let cursor: string | null = null;
    do {
      ({ cursor } = await eraseBatch(purge, root, step, cursor));
    } while (cursor !== null);
  }
}

describe('the erasure of a tenant', () => {
  it('leaves no row of it in any table, and every row of others', async () => {
    const before = await fillTenant(admin, gone.tenantId);
    const others = await fillTenant(admin, other.tenantId);
    expect(Object.keys(before).filter((table) => before[table] === 0)).toEqual([]);
    expect(await danglingKeys(admin)).toEqual([]);
    await eraseAll(gone.tenantId);
    const left = await countTenantRows(admin, gone.tenantId);
    expect(Object.keys(left).filter((table) => left[table]! > 0)).toEqual([]);
    expect(await countTenantRows(admin, other.tenantId)).toEqual(others);
  });
});
