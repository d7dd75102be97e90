import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoUsers } from '../../bin/platform/demo-users.ts';
import { findBrowser, openBrowser } from '../support/browser.ts';
import { CookieClient, type Visitor } from '../support/cookie-client.ts';
import { freshClone, type FreshClone, type StartedClone } from '../support/fresh-clone.ts';
import { arrive, useSession } from '../support/sign-in-journey.ts';

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
    const space = /spaces\/([0-9a-f-]{36})\/responses/.exec(started.screen)![1]!;
    const api = new URL(linkOf(started.screen)).origin;
    const answer = await fetch(`${api}/api/v1/spaces/${space}/collections`, {
      headers: { authorization: `Bearer ${arrived.accessToken}` },
    });
    expect(answer.status).toBe(403);
    expect(await answer.json()).toMatchObject({ error: { missing_permission: 'collections.read' } });
    await useSession(client, arrived);
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
