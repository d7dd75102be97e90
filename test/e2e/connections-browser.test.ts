import type { Client } from 'pg';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  startAuthorizationServer,
  type AuthorizationServer,
} from '../support/authorization/authorization-server.ts';
import { startProtectedServer, type ProtectedServer } from '../support/authorization/protected-server.ts';
import { findBrowser, launchBrowser } from '../support/browser.ts';
import { connectingApp } from '../support/connecting-app.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { claimPort } from '../support/free-port.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { connect } from '../support/tables.ts';
import { addMember, createWorld, type World } from '../support/world.ts';

const executablePath = findBrowser();
const waitMs = 30_000;

describe.skipIf(executablePath === undefined)('a popup in a browser', () => {
  let authorization: AuthorizationServer;
  let tools: ProtectedServer[];
  let database: TestDatabase;
  let admin: Client;
  let gateway: TestGateway;
  let world: World;
  let origin: string;
  let browser: Browser;
  let window: BrowserContext;
  /** Of our own pages. */
  let troubles: string[];
  /** The status of a page that a test has led to, which the console repeats. */
  let answered: string[];
  const gone = 'Failed to load resource: the server responded with a status of 404 (Not Found)';

  beforeAll(async () => {
    authorization = await startAuthorizationServer({ openerPolicy: 'same-origin' });
    tools = await Promise.all([0, 1].map(() => startProtectedServer({ authorization })));
    database = await createTestDatabase();
    admin = await connect(database.adminUrl);
    world = await createWorld(database.unitOfWork);
    const port = await claimPort();
    origin = `http://127.0.0.1:${port}`;
    gateway = await openGateway(database, {
      PUBLIC_URL: origin,
      EGRESS_ALLOW: [authorization.issuer, ...tools.map((each) => each.origin)].join(','),
    });
    await gateway.app.listen({ host: '127.0.0.1', port });
    browser = await launchBrowser(executablePath!, { blocksPopups: true });
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
    await admin?.end();
    await database?.drop();
    await Promise.all([authorization, ...(tools ?? [])].map((each) => each?.stop()));
  });
  beforeEach(async () => {
    troubles = [];
    answered = [];
    window = await browser.newContext();
    window.setDefaultTimeout(waitMs);
    await window.route(`${origin}/app`, (route) =>
      route.fulfill({ contentType: 'text/html; charset=utf-8', body: connectingApp }),
    );
    const isOurs = (url: string | undefined) => url?.startsWith(`${origin}/api/v1/mcp-auth/`) === true;
    window.on('console', (message) => {
      if (message.type() === 'error' && isOurs(message.page()?.url())) troubles.push(message.text());
    });
    window.on('weberror', (error) => {
      if (isOurs(error.page()?.url())) troubles.push(error.error().message);
    });
  });
  afterEach(async () => {
    await window.close();
    expect(troubles).toEqual(answered);
  });

  let count = 0;
  async function registerServer(at = 0): Promise<string> {
    count += 1;
    const made = await gateway.send({
      method: 'POST',
      path: `/v1/spaces/${world.spaceId}/mcp-servers`,
      apiKey: world.apiKey,
      body: {
        slug: `s${count}`,
        display_name: `Server ${count}`,
        url: tools[at]!.url,
        connection_mode: 'personal',
      },
    });
    expect(made.status, made.text).toBe(201);
    return made.body.data.mcp_server_config_id as string;
  }

  async function openApp(server: string, key = world.apiKey, more = ''): Promise<Page> {
    const app = await window.newPage();
    await app.goto(`${origin}/app#server=${server}&key=${key}&space=${world.spaceId}${more}`);
    return app;
  }

  const press = (page: Page, button: string) => page.getByRole('button', { name: button }).click();
  const says = (app: Page, id: string, text: string) =>
    app.locator(`#${id}`, { hasText: text }).waitFor({ timeout: waitMs });
  const heading = (page: Page, text: string) =>
    page.getByRole('heading', { name: text, exact: true }).waitFor();
  const statusIs = async (app: Page, text: string) => {
    await press(app, 'Look');
    await says(app, 'status', text);
  };

  /** Presses `Connect`; the popup shows the question. */
  async function openPopup(app: Page): Promise<Page> {
    const [popup] = await Promise.all([window.waitForEvent('page'), press(app, 'Connect')]);
    await popup.getByRole('button', { name: 'Continue' }).waitFor();
    return popup;
  }

  /** The question is answered: the popup shows the provider's page. */
  async function goOn(popup: Page): Promise<void> {
    await press(popup, 'Continue');
    await popup.getByRole('button', { name: 'Allow' }).waitFor();
  }

  async function connectAgain(app: Page): Promise<void> {
    const popup = await openPopup(app);
    await goOn(popup);
    await press(popup, 'Allow');
    await says(app, 'said', 'connected');
  }

  it('tells the opener though the provider has cut it off, and says what is true', async () => {
    const app = await openApp(await registerServer());
    await statusIs(app, 'auth_required');
    const popup = await openPopup(app);
    await goOn(popup);
    expect(await popup.evaluate('window.opener === null')).toBe(true);
    await statusIs(app, 'pending, popup closed');
    await press(popup, 'Allow');
    await heading(popup, 'Signed in');
    expect(new URL(popup.url()).search).toBe('');
    await says(app, 'said', 'connected');
    await statusIs(app, 'connected');
    expect(await window.cookies()).not.toContainEqual(
      expect.objectContaining({ name: expect.stringContaining('mcp-auth') }),
    );
  });

  it('can be opened by a link where the browser has blocked it', async () => {
    // A page that opens a window by itself, without a click.
    const server = await registerServer();
    // Playwright's own look at the page would count as the person's, who lets windows open.
    const blocked = window.waitForEvent('console', (message) => message.text() === 'blocked');
    const app = await openApp(server, world.apiKey, '&begins=at-once');
    await blocked;
    const [popup] = await Promise.all([window.waitForEvent('page'), app.locator('#link').click()]);
    await goOn(popup);
    await press(popup, 'Allow');
    await says(app, 'said', 'connected');
  });

  it('ends as denied, and as cancelled, and begins again', async () => {
    const app = await openApp(await registerServer());
    const denied = await openPopup(app);
    await goOn(denied);
    await press(denied, 'Deny');
    await heading(denied, 'Not connected');
    await denied.getByText('Access was denied').waitFor();
    await says(app, 'said', 'ended: denied');
    await statusIs(app, 'auth_required');
    const cancelled = await openPopup(app);
    await press(cancelled, 'Cancel');
    await heading(cancelled, 'Not connected');
    await says(app, 'said', 'ended: cancelled');
    await connectAgain(app);
  });

  it('that was closed shows in the state, and another one takes its place', async () => {
    const app = await openApp(await registerServer());
    const popup = await openPopup(app);
    const address = popup.url();
    await popup.close();
    await statusIs(app, 'pending');
    const other = await openPopup(app);
    await goOn(other);
    const late = await window.newPage();
    await late.goto(address);
    await heading(late, 'This attempt is over');
    answered = [gone];
    await press(other, 'Allow');
    await says(app, 'said', 'connected');
  });

  it('is one of two at once, and each opener takes the end of its own server', async () => {
    const servers = [await registerServer(0), await registerServer(1)];
    const apps = [await openApp(servers[0]!), await openApp(servers[1]!)];
    const popups = [await openPopup(apps[0]!), await openPopup(apps[1]!)];
    // The first question is answered after the second one was shown.
    for (const popup of popups) await goOn(popup);
    await press(popups[1]!, 'Allow');
    await says(apps[1]!, 'said', 'connected');
    await statusIs(apps[0]!, 'pending');
    expect(await apps[0]!.locator('#said').textContent()).toBe('open');
    await press(popups[0]!, 'Deny');
    await says(apps[0]!, 'said', 'ended: denied');
    expect(await apps[1]!.locator('#said').textContent()).toBe('connected');
  });

  it('of one person is completed by nobody else on the same machine', async () => {
    const server = await registerServer();
    const [ann, ben] = [
      await addMember(database.unitOfWork, world, { spaceRole: 'space_editor' }),
      await addMember(database.unitOfWork, world, { spaceRole: 'space_editor' }),
    ];
    const annsApp = await openApp(server, ann.apiKey);
    const popup = await openPopup(annsApp);
    await goOn(popup);
    // Ann has left; Ben uses the same browser, and her popup ends in it.
    await annsApp.close();
    const requests = authorization.tokenRequests.length;
    const bensApp = await openApp(server, ben.apiKey);
    await press(popup, 'Allow');
    await heading(popup, 'Signed in');
    await says(bensApp, 'said', 'refused: authorization_attempt_not_found');
    await statusIs(bensApp, 'auth_required');
    expect(authorization.tokenRequests.length).toBe(requests);
    await connectAgain(bensApp);
  });
  it('opened in one browser cannot be continued in another', async () => {
    const app = await openApp(await registerServer());
    const popup = await openPopup(app);
    const other = await browser.newContext();
    try {
      const thief = await other.newPage();
      await thief.goto(popup.url());
      await heading(thief, 'This attempt is over');
      await goOn(popup);
      await press(popup, 'Allow');
      await says(app, 'said', 'connected');
    } finally {
      await other.close();
    }
  });

  it('shows an error of the provider in words of its own, and begins again', async () => {
    const app = await openApp(await registerServer());
    const popup = await openPopup(app);
    authorization.instead.set('/auth', (request, response) => {
      const asked = new URL(request.url ?? '', authorization.issuer).searchParams;
      const back = new URL(asked.get('redirect_uri') ?? '');
      const answer = {
        error: 'server_error',
        error_description: 'Call 555-HACK.',
        state: asked.get('state') ?? '',
        iss: authorization.issuer,
      };
      for (const [name, value] of Object.entries(answer)) back.searchParams.set(name, value);
      response.writeHead(303, { location: back.href }).end();
    });
    try {
      await press(popup, 'Continue');
      await heading(popup, 'Not connected');
    } finally {
      authorization.instead.delete('/auth');
    }
    await popup.getByText('not available at the moment').waitFor();
    expect(await popup.content()).not.toContain('HACK');
    await says(app, 'said', 'ended: provider_unavailable');
    await connectAgain(app);
  });

  it('whose time is over ends on a page, and begins again', async () => {
    const server = await registerServer();
    const app = await openApp(server);
    const popup = await openPopup(app);
    await goOn(popup);
    await admin.query('update authorization_attempts set expires_at = now() where server_id = $1', [server]);
    await press(popup, 'Allow');
    await heading(popup, 'This attempt is over');
    answered = [gone];
    await statusIs(app, 'auth_required');
    await connectAgain(app);
  });
});
