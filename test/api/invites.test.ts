import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';
import { openAdminWorld, verdict, type AdminWorld, type Person } from '../support/admin-world.ts';
import { untilBlocked } from '../support/tables.ts';
import { createWorld } from '../support/world.ts';

let place: AdminWorld;
let count = 0;
beforeAll(async () => {
  place = await openAdminWorld();
});
afterAll(() => place?.close());

const own = (method: string, path: string, body?: object) => place.ask(place.owner, method, path, body);
const anAddress = () => `ada${(count += 1)}@example.com`;
const path = (id: string, verb = '') => place.inSpace(`/invites/${id}${verb}`);

/** A principal outside the space with a pending invite into it. */
async function invited(more: object = {}): Promise<{ id: string; guest: Person; email: string }> {
  const email = anAddress();
  const made = await own('POST', place.inSpace('/invites'), { email, ...more });
  expect(made.status, made.text).toBe(201);
  return { id: made.body.data.id, email, guest: await place.person({ spaceRole: null, email }) };
}
const answer = (who: Person, id: string, verb: string) => place.ask(who, 'POST', path(id, `/${verb}`));
const runOut = (id: string) =>
  place.admin.query(`update invites set expires_at = now() - interval '1 second' where id = $1`, [id]);

describe('an invite', () => {
  it('is pending for seven days, with the requested role', async () => {
    const { id, email } = await invited({ role_id: builtInRoleId('space_editor') });
    const { data } = (await own('GET', path(id))).body;
    expect(data).toMatchObject({
      id,
      email,
      role: 'space_editor',
      status: 'pending',
      invited_by: place.owner.principalId,
      answered_by: null,
      answered_at: null,
    });
    expect(Date.parse(data.expires_at) - Date.parse(data.created_at)).toBe(7 * 86_400_000);
    expect(await place.eventsOf(id)).toEqual(['space.invite_created']);
  });

  it('makes the invited a member when accepted, once, however often it is accepted', async () => {
    const { id, guest } = await invited();
    expect(verdict(await place.ask(guest, 'GET', place.inSpace('')))).toBe(
      '403 missing_permission spaces.read',
    );
    const accepted = await answer(guest, id, 'accept');
    expect(accepted.status).toBe(200);
    expect(accepted.body.data).toMatchObject({ id, status: 'accepted', answered_by: guest.principalId });
    expect((await place.ask(guest, 'GET', place.inSpace(''))).status).toBe(200);
    expect((await answer(guest, id, 'accept')).body).toEqual(accepted.body);
    const { rows } = await place.admin.query(
      `select event_type from events where actor_id = $1 and category = 'space' order by id`,
      [guest.principalId],
    );
    expect(rows.map((row) => row.event_type)).toEqual(['space.invite_accepted', 'space.member_added']);
  });

  it('is answered by a restricted key only as far as the key’s permissions reach', async () => {
    const [one, two] = [await invited(), await invited()];
    const reader = await place.restricted(one.guest, ['invites.read']);
    expect(verdict(await answer(reader, one.id, 'accept'))).toBe('403 missing_permission members.add');
    expect(verdict(await answer(reader, one.id, 'decline'))).toBe('403 missing_permission invites.revoke');
    expect((await own('GET', path(one.id))).body.data.status).toBe('pending');
    const adder = await place.restricted(one.guest, ['members.add']);
    expect((await answer(adder, one.id, 'accept')).status).toBe(200);
    const revoker = await place.restricted(two.guest, ['invites.revoke']);
    expect((await answer(revoker, two.id, 'decline')).status).toBe(200);
  });

  it('is accepted by five requests at once as by one', async () => {
    const { id, guest } = await invited();
    const answers = await Promise.all(Array.from({ length: 5 }, () => answer(guest, id, 'accept')));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const { rows } = await place.admin.query(
      `select event_type from events where actor_id = $1 and category = 'space' order by id`,
      [guest.principalId],
    );
    expect(rows).toHaveLength(2);
  });

  it('is for the invited address alone, in whatever case', async () => {
    const { id, email } = await invited();
    const other = await place.person({ spaceRole: null, email: anAddress() });
    const nameless = await place.person({ spaceRole: null });
    for (const who of [other, nameless, place.owner]) {
      for (const verb of ['accept', 'decline']) {
        expect(verdict(await answer(who, id, verb))).toBe('403 invite_identity_mismatch');
      }
    }
    const shouting = await place.person({ spaceRole: null, email: email.toUpperCase() });
    expect((await answer(shouting, id, 'accept')).status).toBe(200);
    // A Kelvin sign lower-cases to k, but is a different letter.
    const kelvin = await invited();
    await place.admin.query(`update invites set email = 'kim' || email where id = $1`, [kelvin.id]);
    const alike = await place.person({ spaceRole: null, email: `\u212aim${kelvin.email}` });
    expect(verdict(await answer(alike, kelvin.id, 'accept'))).toBe('403 invite_identity_mismatch');
    // The same address again, but another principal.
    const twin = await place.person({ spaceRole: null, email });
    expect(verdict(await answer(twin, id, 'accept'))).toBe('409 invalid_state');
    const { rows } = await place.admin.query(
      `select count(*)::int as n from events where event_type = 'security.permission_denied' and metadata ->> 'code' = 'invite_identity_mismatch'`,
    );
    expect(rows[0].n).toBeGreaterThan(0);
  });

  it.each([
    ['declined', 'accept'],
    ['revoked', 'accept'],
    ['revoked', 'decline'],
    ['accepted', 'decline'],
  ])('that was %s cannot be answered with %s', async (status, verb) => {
    const { id, guest } = await invited();
    const done = { declined: 'decline', revoked: 'revoke', accepted: 'accept' }[status]!;
    expect((await answer(status === 'revoked' ? place.owner : guest, id, done)).status).toBe(200);
    expect(verdict(await answer(guest, id, verb))).toBe('409 invalid_state');
    expect((await own('GET', path(id))).body.data.status).toBe(status);
  });

  it('is declined by the invited and revoked by principals with the permission, each with its event, once', async () => {
    const one = await invited();
    const two = await invited();
    for (let n = 0; n < 2; n += 1) {
      expect((await answer(one.guest, one.id, 'decline')).body.data.status).toBe('declined');
      expect((await own('POST', path(two.id, '/revoke'))).body.data.status).toBe('revoked');
    }
    expect(await place.eventsOf(one.id)).toEqual(['space.invite_created', 'space.invite_declined']);
    expect(await place.eventsOf(two.id)).toEqual(['space.invite_created', 'space.invite_revoked']);
    expect(verdict(await own('POST', path(one.id, '/revoke')))).toBe('409 invalid_state');
    expect(verdict(await place.ask(one.guest, 'POST', path(two.id, '/revoke')))).toBe(
      '403 missing_permission invites.revoke',
    );
  });

  it('has expired when its time is over by the database’s clock, whatever its row says', async () => {
    const { id, guest, email } = await invited();
    await runOut(id);
    expect(verdict(await answer(guest, id, 'accept'))).toBe('410 invite_expired');
    expect(verdict(await answer(guest, id, 'decline'))).toBe('410 invite_expired');
    expect((await own('GET', path(id))).body.data).toMatchObject({ status: 'expired', answered_by: null });
    const listed = async (status: string) => {
      const { body } = await own('GET', place.inSpace(`/invites?limit=100&status=${status}`));
      return body.data.map((row: { id: string }) => row.id) as string[];
    };
    expect(await listed('expired')).toContain(id);
    expect(await listed('pending')).not.toContain(id);
    // It does not prevent the next one.
    const next = await own('POST', place.inSpace('/invites'), { email });
    expect(next.status).toBe(201);
    expect(await place.eventsOf(id)).toEqual(['space.invite_created', 'space.invite_expired']);
    expect(await listed('expired')).toContain(id);
    expect(await listed('pending')).toContain(next.body.data.id);
  });

  it('is the only pending one of its address in the space', async () => {
    const { email } = await invited();
    expect(verdict(await own('POST', place.inSpace('/invites'), { email: email.toUpperCase() }))).toBe(
      '409 already_exists',
    );
  });

  it('promises no more than the inviter has', async () => {
    const inviter = await place.role(['invites.create', 'collections.read']);
    const small = await place.person({ spaceRole: null });
    await own('POST', place.inSpace('/members'), { principal_id: small.principalId, role_id: inviter });
    const invite = (more: object) =>
      place.ask(small, 'POST', place.inSpace('/invites'), { email: anAddress(), ...more });
    expect(verdict(await invite({}))).toMatch('403 missing_permission');
    expect((await invite({ role_id: inviter })).status).toBe(201);
  });

  it('forgets the address of a principal that is deleted, and is taken back while it is pending', async () => {
    const { id, guest, email } = await invited();
    await answer(guest, id, 'accept');
    const again = async (space: string) =>
      (await own('POST', `/spaces/${space}/invites`, { email: email.toUpperCase() })).body.data.id as string;
    const late = await again(place.world.spaceId);
    await runOut(late);
    const elsewhere = (await own('POST', '/spaces', { name: 'Elsewhere' })).body.data.id as string;
    const pending = await again(elsewhere);
    const bystander = await invited();

    await own('DELETE', `/admin/principals/${guest.principalId}`);
    const { rows } = await place.admin.query(
      'select id, email, status, answered_by from invites where id = any ($1) order by id',
      [[id, late, pending]],
    );
    const over = { email: null, status: 'expired', answered_by: null };
    expect(rows).toEqual([
      { ...over, id, status: 'accepted', answered_by: guest.principalId },
      { ...over, id: late },
      { ...over, id: pending, status: 'revoked', answered_by: place.owner.principalId },
    ]);
    expect((await own('GET', path(id))).body.data).toMatchObject({ email: null, status: 'accepted' });
    const list = await own('GET', place.inSpace('/invites?limit=100'));
    expect(list.text).not.toContain(email);
    expect(await place.eventsOf(pending)).toEqual(['space.invite_created', 'space.invite_revoked']);
    expect(await place.eventsOf(late)).toEqual(['space.invite_created', 'space.invite_expired']);
    expect(await place.eventsOf(id)).toEqual(['space.invite_created', 'space.invite_accepted']);
    expect((await own('GET', path(bystander.id))).body.data).toMatchObject({
      email: bystander.email,
      status: 'pending',
    });
    // A missing address does not match another missing address.
    expect(verdict(await answer(await place.person({ spaceRole: null }), id, 'accept'))).toBe(
      '403 invite_identity_mismatch',
    );
  });

  it('keeps the address while another principal of the tenant has it', async () => {
    const { id, guest, email } = await invited();
    const twin = await place.person({ spaceRole: null, email: email.toUpperCase() });
    await own('DELETE', `/admin/principals/${guest.principalId}`);
    expect((await own('GET', path(id))).body.data).toMatchObject({ email, status: 'pending' });
    expect((await answer(twin, id, 'accept')).status).toBe(200);
    await own('DELETE', `/admin/principals/${twin.principalId}`);
    expect((await own('GET', path(id))).body.data).toMatchObject({ email: null, status: 'accepted' });
  });

  it('leaves a membership that was there before as it is', async () => {
    const email = anAddress();
    const member = await place.person({ spaceRole: 'space_editor', email });
    const made = await own('POST', place.inSpace('/invites'), { email });
    expect((await answer(member, made.body.data.id, 'accept')).body.data.status).toBe('accepted');
    const { body } = await own('GET', place.inSpace('/members?limit=100'));
    const mine = body.data.filter((row: { principal_id: string }) => row.principal_id === member.principalId);
    expect(mine).toMatchObject([{ role: 'space_editor' }]);
  });

  it('leaves a membership that comes at the same moment as it is', async () => {
    const { id, guest } = await invited();
    const { tenantId, spaceId } = place.world;
    await place.admin.query('begin');
    await place.admin.query(
      `insert into space_members (tenant_id, space_id, principal_id, role_key) values ($1, $2, $3, 'space_editor')`,
      [tenantId, spaceId, guest.principalId],
    );
    const accepted = answer(guest, id, 'accept');
    await untilBlocked(place.admin);
    await place.admin.query('commit');
    expect((await accepted).body.data).toMatchObject({ status: 'accepted' });
    const { rows } = await place.admin.query(
      `select event_type from events where actor_id = $1 and category = 'space'`,
      [guest.principalId],
    );
    expect(rows).toEqual([{ event_type: 'space.invite_accepted' }]);
  });
});

describe('one’s own invites', () => {
  const mine = (who: Person, search = '') => place.ask(who, 'GET', `/invites${search}`);
  const idsOf = async (who: Person): Promise<string[]> => {
    const { status, body } = await mine(who, '?limit=100');
    expect(status).toBe(200);
    return body.data.map(({ id }: { id: string }) => id);
  };
  const invite = async (space: string, email: string): Promise<string> =>
    (await own('POST', `/spaces/${space}/invites`, { email })).body.data.id;

  it('are found by the invited with everything needed to accept, and are gone once answered', async () => {
    const email = anAddress();
    const id = await invite(place.world.spaceId, email.toUpperCase());
    const known = (await own('GET', path(id))).body.data;
    const space = (await own('GET', place.inSpace(''))).body.data;
    // A principal without permissions, created after the invite.
    const guest = await place.person({ spaceRole: null, email });
    const list = await mine(guest);
    expect(list.body).toEqual({
      data: [
        {
          id,
          space_id: space.id,
          space_name: space.name,
          role: 'space_member',
          status: 'pending',
          expires_at: known.expires_at,
          created_at: known.created_at,
        },
      ],
      meta: { next_cursor: null, has_more: false },
    });
    const [found] = list.body.data;
    const accepted = await place.ask(guest, 'POST', `/spaces/${found.space_id}/invites/${found.id}/accept`);
    expect(accepted.body.data.status).toBe('accepted');
    expect(await idsOf(guest)).toEqual([]);
  });

  it('come from every space, newest first, page by page', async () => {
    const email = anAddress();
    const guest = await place.person({ spaceRole: null, email });
    const made: string[] = [];
    for (const name of ['Pier', 'Jetty', 'Dock']) {
      made.unshift(await invite((await own('POST', '/spaces', { name })).body.data.id, email));
    }
    const first = await mine(guest, '?limit=2');
    expect(first.body.data.map(({ space_name: name }: { space_name: string }) => name)).toEqual([
      'Dock',
      'Jetty',
    ]);
    const { next_cursor: cursor } = first.body.meta;
    const second = await mine(guest, `?limit=2&cursor=${encodeURIComponent(cursor)}`);
    expect([...first.body.data, ...second.body.data].map(({ id }: { id: string }) => id)).toEqual(made);
    expect(second.body.meta).toEqual({ next_cursor: null, has_more: false });
    // A cursor of another principal's list.
    const other = await place.person({ spaceRole: null, email: anAddress() });
    expect(verdict(await mine(other, `?cursor=${encodeURIComponent(cursor)}`))).toBe('422 invalid_cursor');
  });

  it('are nobody else’s, and none once declined, taken back or run out', async () => {
    const { id, guest, email } = await invited();
    const kelvin = await invited();
    await place.admin.query(`update invites set email = 'kim' || email where id = $1`, [kelvin.id]);
    const others = [
      place.owner,
      await place.person({ spaceRole: null }),
      await place.person({ spaceRole: 'space_admin', email: anAddress() }),
      await place.person({ spaceRole: null, email: `x${email}` }),
      await place.person({ spaceRole: null, email: `\u212aim${kelvin.email}` }),
    ];
    for (const other of others) {
      expect(await idsOf(other)).toEqual([]);
    }
    expect(await idsOf(guest)).toEqual([id]);
    await runOut(id);
    expect(await idsOf(guest)).toEqual([]);
    for (const [who, verb] of [
      [guest, 'decline'],
      [place.owner, 'revoke'],
    ] as const) {
      const again = await invite(place.world.spaceId, email);
      expect(await idsOf(guest)).toEqual([again]);
      await answer(who, again, verb);
      expect(await idsOf(guest)).toEqual([]);
    }
  });

  it('of another tenant are not shown to a principal with the same address here', async () => {
    const { id, guest, email } = await invited();
    const abroad = await createWorld(place.database.unitOfWork);
    const made = await place.gateway.send({
      method: 'POST',
      path: `/v1/spaces/${abroad.spaceId}/invites`,
      apiKey: abroad.apiKey,
      body: { email },
    });
    expect(made.status, made.text).toBe(201);
    expect(await idsOf(guest)).toEqual([id]);
    await place.admin.query('update principals set email = $1 where id = $2', [
      email,
      abroad.owner.principalId,
    ]);
    expect(await idsOf({ principalId: abroad.owner.principalId, apiKey: abroad.apiKey })).toEqual([
      made.body.data.id,
    ]);
  });

  it('are out of reach for a key restricted to other permissions', async () => {
    const email = anAddress();
    const id = await invite(place.world.spaceId, email);
    const one = (permission: Permission) =>
      place.person({ spaceRole: null, email, keyPermissions: [permission] });
    expect(verdict(await mine(await one('responses.create')))).toBe('403 missing_permission invites.read');
    expect(await idsOf(await one('invites.read'))).toEqual([id]);
  });
});
