import { afterAll, beforeAll, expect, it } from 'vitest';
import { expireInvites } from '#domain/operations/maintenance/expire-invites.ts';
import { openAdminWorld, type AdminWorld } from '../../../support/admin-world.ts';
import { sweepOnce } from '../../../support/sweeps.ts';

let place: AdminWorld;
beforeAll(async () => {
  place = await openAdminWorld();
});
afterAll(() => place?.close());

it('records the expiry of an invite once, and leaves the others', async () => {
  const invite = async (email: string): Promise<string> =>
    (await place.ask(place.owner, 'POST', place.inSpace('/invites'), { email })).body.data.id;
  const [due, pending, revoked] = [
    await invite('a@example.com'),
    await invite('b@example.com'),
    await invite('c@example.com'),
  ];
  await place.ask(place.owner, 'POST', place.inSpace(`/invites/${revoked}/revoke`));
  await place.admin.query('update invites set expires_at = now() where id in ($1, $2)', [due, revoked]);
  const sweep = () => sweepOnce(expireInvites, place.database);
  expect([await sweep(), await sweep()]).toMatchObject([
    { done: 1, failed: 0 },
    { done: 0, failed: 0 },
  ]);
  const { rows } = await place.admin.query('select id, status from invites order by email');
  expect(rows).toEqual([
    { id: due, status: 'expired' },
    { id: pending, status: 'pending' },
    { id: revoked, status: 'revoked' },
  ]);
  expect(await place.eventsOf(due)).toEqual(['space.invite_created', 'space.invite_expired']);
  expect(await place.eventsOf(pending)).toEqual(['space.invite_created']);
});
