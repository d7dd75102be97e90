import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { purgeStaleRows } from '#domain/operations/maintenance/purge-stale-rows.ts';
import { openEngine, type Engine } from '../../../support/engine.ts';
import { Purge } from '../../../support/purge.ts';
import { sweepOnce } from '../../../support/sweeps.ts';

let engine: Engine;
let purge: Purge;

beforeAll(async () => {
  engine = await openEngine();
  purge = new Purge(engine.database);
});
afterAll(async () => {
  await purge?.close();
  await engine?.stop();
});

it('an ended invite and its address are deleted 90 days after its end of validity, a pending or younger one is not', async () => {
  const { tenantId, spaceId, owner } = engine.world;
  const { principalId } = owner;
  const invite = async (status: string, days: number) => {
    const answered = status === 'revoked' ? principalId : null;
    const email = `${status}-${days}@example.com`;
    await engine.admin.query(
      `insert into invites (tenant_id, id, space_id, email, role_key, status, invited_by, answered_by, answered_at, expires_at)
       values ($1, $2, $3, $4, 'viewer', $5, $6, $7, case when $7::uuid is not null then now() end, now() - make_interval(days => $8))`,
      [tenantId, newId(), spaceId, email, status, principalId, answered, days],
    );
  };
  await invite('expired', 91);
  await invite('revoked', 91);
  await invite('expired', 89);
  await invite('pending', 91);
  expect(await sweepOnce(purgeStaleRows, { database: engine.database.database, purge })).toMatchObject({
    done: 2,
    failed: 0,
  });
  const { rows } = await engine.admin.query<{ email: string }>('select email from invites order by email');
  expect(rows.map(({ email }) => email)).toEqual(['expired-89@example.com', 'pending-91@example.com']);
});
