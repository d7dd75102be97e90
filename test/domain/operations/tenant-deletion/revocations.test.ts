import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAuthorizationServers } from '#adapters/authorization/authorization-servers.ts';
import { createContext } from '#domain/foundation/access/context.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import { requestDeletion } from '#domain/operations/tenant-deletion/request-deletion.ts';
import { revokeExternal } from '#domain/operations/tenant-deletion/revoke-external.ts';
import { openDeletionWorld, type DeletionWorld } from '../../../support/deletion-world.ts';
import { createWorld, secrets } from '../../../support/world.ts';

let place: DeletionWorld;
beforeAll(async () => {
  place = await openDeletionWorld();
});
afterAll(() => place?.close());

const authorizationServers = createAuthorizationServers({
  fetch: async () => Promise.reject(new Error('unreachable')),
  onLimitExceeded: () => {},
});

it('the outcomes of many connections are recorded a page at a time, each once', async () => {
  const { admin, database } = place;
  const { unitOfWork } = database;
  const world = await createWorld(unitOfWork);
  const { tenantId, spaceId, owner } = world;
  await admin.query(
    `insert into mcp_connections (tenant_id, id, space_id, connected_by, status, issuer, target)
     select $1, uuidv7(), $2, $3, 'pending', 'https://issuer.example', '{}' from generate_series(1, 120)`,
    [tenantId, spaceId, owner.principalId],
  );
  const deletionId = await unitOfWork.inTenant(tenantId, async (em) => {
    const identity = { ...owner, apiKeyId: null, keyPermissions: null };
    const caller = await loadCaller(em, identity, { via: 'api', requestId: null }, { spaceId: null });
    const ctx = createContext({ caller: { ...caller, isPlatform: true }, em, secrets });
    const { deletion } = await requestDeletion(ctx, {
      reasonCode: 'test_cleanup',
      graceSeconds: 0,
      defaultGraceSeconds: 604_800,
    });
    return deletion.id;
  });
  await admin.query(
    `create table public.writes (at timestamptz default clock_timestamp());
     grant insert on public.writes to app_rt;
     create function public.count_write() returns trigger language plpgsql as
       $$ begin insert into public.writes default values; return new; end $$;
     create trigger count_writes after update on app.tenant_deletions for each row execute function public.count_write()`,
  );
  const writes = async () => (await admin.query('select from writes')).rowCount;
  const parts = { unitOfWork, secrets, authorizationServers };
  await revokeExternal(parts, { tenantId, deletionId });
  const { rows } = await admin.query<{ all: number; distinct: number }>(
    `select count(*)::int as all, count(distinct r->>'id')::int as distinct
     from app.tenant_deletions d, jsonb_array_elements(d.revocations) r where d.id = $1`,
    [deletionId],
  );
  expect(rows).toEqual([{ all: 120, distinct: 120 }]);
  expect(await writes()).toBe(3);
  // A repeat writes nothing.
  await revokeExternal(parts, { tenantId, deletionId });
  expect(await writes()).toBe(3);
});
