import { afterAll, beforeAll, expect, it } from 'vitest';
import { eraseScope } from '#domain/operations/scope-erasure/erase-scope.ts';
import { openErasureWorld, type ErasureWorld } from '../../../support/erasure-world.ts';
import { connect, untilBlocked } from '../../../support/tables.ts';
import { fillTenant } from '../../../support/tenant-rows.ts';
import { createWorld } from '../../../support/world.ts';

let world: ErasureWorld;

beforeAll(async () => {
  world = await openErasureWorld();
});
afterAll(() => world?.stop());

interface Use {
  server: string;
  credential: string;
  owner: string;
}

/** A tenant with tool servers, each with a personal credential of somebody else. */
async function twoUses() {
  const { tenantId } = await createWorld(world.database.unitOfWork);
  await fillTenant(world.admin, tenantId, 2);
  const { rows } = await world.admin.query<Use>(
    `select s.id as server, c.id as credential, c.owner_id as owner from mcp_servers s
     join credentials c on c.tenant_id = s.tenant_id and c.id = s.credential_id
     where s.tenant_id = $1 and c.owner_id is not null order by s.id`,
    [tenantId],
  );
  const [gone, left] = rows;
  expect(new Set(rows.map(({ owner }) => owner)).size).toBe(2);
  return { tenantId, gone: gone!, left: left! };
}

async function markDeleted(tenantId: string, rootId: string) {
  await world.admin.query(
    `update principals set deleted_at = now(), status = 'disabled', name = null, email = null
     where tenant_id = $1 and id = $2`,
    [tenantId, rootId],
  );
  await world.admin.query(
    `insert into erasures (tenant_id, root_type, root_id) values ($1, 'principal', $2)`,
    [tenantId, rootId],
  );
}

const credentialOf = async (server: string) => {
  const { rows } = await world.admin.query<{ id: string | null }>(
    'select credential_id as id from mcp_servers where id = $1',
    [server],
  );
  return rows[0]!.id;
};

it('a server that is just given another credential keeps it when the first one is erased', async () => {
  const { tenantId, gone, left } = await twoUses();
  await markDeleted(tenantId, gone.owner);
  const administrator = await connect(world.database.adminUrl);
  try {
    await administrator.query('begin');
    await administrator.query('update mcp_servers set credential_id = $2 where id = $1', [
      gone.server,
      left.credential,
    ]);
    const always = { mayGoOn: () => true, erased: () => {} };
    const scope = { tenantId, rootType: 'principal', rootId: gone.owner } as const;
    const erasing = eraseScope(world.purge, scope, always);
    // The server was listed with its first credential.
    await untilBlocked(administrator);
    await administrator.query('commit');
    expect(await erasing).toBe(true);
  } finally {
    await administrator.end();
  }
  expect(await credentialOf(gone.server)).toBe(left.credential);
  expect(await credentialOf(left.server)).toBe(left.credential);
  const { rows } = await world.admin.query('select from credentials where id = $1', [gone.credential]);
  expect(rows).toEqual([]);
});
