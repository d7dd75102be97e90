import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtInRoleId } from '#domain/access/role-ids.ts';
import { demoUsers } from '../../bin/platform/demo-users.ts';
import { findBrowser, openBrowser } from '../support/browser.ts';
import { CookieClient, type Visitor } from '../support/cookie-client.ts';
import { freshClone, type FreshClone, type StartedClone } from '../support/fresh-clone.ts';
import { arrive, caller, refusal, useSession } from '../support/sign-in-journey.ts';

const browser = findBrowser();
const [first, second] = demoUsers;

describe('the printed link of a fresh clone', () => {
  let clone: FreshClone;
  let started: StartedClone;
  const visitors: Visitor[] = [];

  beforeAll(async () => {
    clone = await freshClone();
    started = await clone.start();
    process.stderr.write(
      `The sign-in journey runs in ${browser ?? 'a client of cookies and forms: there is no browser here'}.\n`,
    );
  }, 120_000);
  afterAll(async () => {
    await Promise.all(visitors.map((visitor) => visitor.close()));
    await started?.stop();
    clone?.remove();
  });

  const linkOf = (screen: string): string => /^ {2}Sign in +(\S+)$/m.exec(screen)![1]!;
  const spaceOf = (screen: string): string => /spaces\/([0-9a-f-]{36})\/responses/.exec(screen)![1]!;
  const visitor = (opened: Visitor): Visitor => {
    visitors.push(opened);
    return opened;
  };

  it('signs in whoever follows it, for a session that is used, renewed and ended', async () => {
    const client = visitor(new CookieClient());
    const arrived = await arrive(client, linkOf(started.screen), first);
    await useSession(client, arrived);
  }, 60_000);

  it('makes the second user somebody of their own, who sees nothing of the first', async () => {
    const client = visitor(new CookieClient());
    const arrived = await arrive(client, linkOf(started.screen), second);
    const api = `${new URL(linkOf(started.screen)).origin}/api/v1/spaces/${spaceOf(started.screen)}`;
    expect(refusal(await caller(api, arrived.accessToken)('GET', '/collections'))).toBe(
      '403 collections.read',
    );
    await useSession(client, arrived);
  }, 60_000);

  it('lets the second user into the space by an invite of the first, for what the role allows and no more', async () => {
    const link = linkOf(started.screen);
    const inviting = await arrive(visitor(new CookieClient()), link, first);
    const invited = await arrive(visitor(new CookieClient()), link, second);
    const api = `${new URL(link).origin}/api/v1/spaces/${spaceOf(started.screen)}`;
    const host = caller(api, inviting.accessToken);
    const guest = caller(api, invited.accessToken);
    const made = await host('POST', '/invites', {
      email: second.email,
      role_id: builtInRoleId('space_viewer'),
    });
    expect(made.status).toBe(201);
    const invite = `/invites/${made.body.data.id}`;
    expect(refusal(await guest('GET', ''))).toBe('403 spaces.read');
    expect(refusal(await guest('GET', invite))).toBe('403 invites.read');
    expect((await host('POST', `${invite}/accept`)).body.error.code).toBe('invite_identity_mismatch');

    const accepted = await guest('POST', `${invite}/accept`);
    expect(accepted.body.data).toMatchObject({ status: 'accepted', role: 'space_viewer' });
    for (const readable of ['', '/collections', '/members', '/projects', '/threads', '/models']) {
      expect((await guest('GET', readable)).status, readable).toBe(200);
    }
    const refused = [
      await guest('POST', '/responses', { input: { text: 'May I?' } }),
      await guest('POST', '/collections', { name: 'Mine' }),
      await guest('POST', '/invites', { email: 'more@example.com' }),
      await guest('PATCH', '', { name: 'Mine' }),
    ];
    expect(refused.map(refusal)).toEqual([
      '403 responses.create',
      '403 collections.create',
      '403 invites.create',
      '403 spaces.update',
    ]);
  }, 60_000);

  it('shows nothing to whoever comes with somebody else’s address', async () => {
    const victim = visitor(new CookieClient());
    await arrive(victim, linkOf(started.screen), first);
    const thief = visitor(new CookieClient());
    await thief.open(victim.url());
    expect(await thief.textOf('h1')).toBe('Not signed in');
  }, 60_000);

  it.skipIf(browser === undefined)(
    'does the same in a headless browser',
    async () => {
      const page = visitor(await openBrowser(browser!));
      const arrived = await arrive(page, linkOf(started.screen), first);
      await useSession(page, arrived);
    },
    60_000,
  );

  it('still does after a stop and a start', async () => {
    const before = linkOf(started.screen);
    await started.stop();
    expect(started.output()).not.toMatch(/unexpected|warning|deprecat/i);
    started = await clone.start();
    expect(linkOf(started.screen)).toBe(before);
    const client = visitor(new CookieClient());
    await useSession(client, await arrive(client, before, first));
  }, 120_000);
});
