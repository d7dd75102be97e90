import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtInRoleId } from '#domain/identity/roles/role-ids.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { demoUsers } from '../../bin/platform/demo-users.ts';
import { findBrowser, launchBrowser, openBrowser } from '../support/browser.ts';
import { realWeights } from '../support/builtin-weights.ts';
import { CookieClient, type Visitor } from '../support/cookie-client.ts';
import { leaveResponses } from '../support/demo-filters.ts';
import { freshClone, type FreshClone, type StartedClone } from '../support/fresh-clone.ts';
import { modelAddress } from '../support/model-address.ts';
import { lookAt } from '../support/page-look.ts';
import { arrive, caller, refusal, useSession } from '../support/sign-in-journey.ts';
import { startSilence } from '../support/silent-server.ts';
import { slack } from '../support/slack.ts';
import { splitFrames } from '../support/sse-frames.ts';
import { linksIn, listAt } from '../support/temporal-list.ts';

const browser = findBrowser();
const [first, second] = demoUsers;
const firstStartMs = 30_000;
const laterStartMs = 10_000;
const stopMs = 10_000;
const weights = await realWeights();
const demoQuestion = 'How does a response survive a worker crash?';
/** A question, and the sentence that answers it without any of its words. */
const otherWords = 'Can unhappy shoppers be reimbursed?';
const promise = 'Refunds are issued within 14 days of purchase.';

describe('the first run of a fresh clone', () => {
  let clone: FreshClone;
  let silent: Awaited<ReturnType<typeof startSilence>>;
  let started: StartedClone;
  let startedAfterMs: number;
  let streamed: ResponseRecord;
  const visitors: Visitor[] = [];

  beforeAll(async () => {
    clone = await freshClone();
    const since = Date.now();
    silent = await startSilence();
    started = await clone.start({ EGRESS_ALLOW: silent.origin });
    startedAfterMs = Date.now() - since;
    process.stderr.write(
      `The sign-in journey runs in ${browser ?? 'a client of cookies and forms: there is no browser here'}.\n`,
    );
  });
  afterAll(async () => {
    await Promise.all(visitors.map((visitor) => visitor.close()));
    await started?.stop();
    silent?.stop();
    clone?.remove();
  });

  const linkOf = (screen: string): string => /^ {2}Sign in +(\S+)$/m.exec(screen)![1]!;
  const spaceOf = (screen: string): string => /spaces\/([0-9a-f-]{36})\/responses/.exec(screen)![1]!;
  const visitor = (opened: Visitor): Visitor => {
    visitors.push(opened);
    return opened;
  };

  it('prints two lines that stream a cited answer and read it back', async () => {
    expect(startedAfterMs).toBeLessThan(firstStartMs * slack());
    expect(started.curlLines).toHaveLength(2);
    streamed = await streamAnswer(started.curlLines[0]!);
    expect(streamed.status).toBe('completed');
    const cited = citationsOf(streamed);
    expect(cited.length).toBeGreaterThan(0);
    expect(cited.filter((name) => !/^(README|CONTRIBUTING|docs\/.+)\.md$/.test(name))).toEqual([]);
    expect(textOf(streamed)).toMatch(/worker/);
    expect(await readBack(started.curlLines[1]!)).toEqual(streamed);
    for (const url of pagesOf(started.screen)) expect(await statusOf(url), url).toBe(200);
  });

  it('reads the demo’s documents by a connector, whose first run is on record with every document', async () => {
    const demo = demoOf(started.screen);
    await expect.poll(async () => (await demo.firstRun()).completed_at, hybridSoon()).not.toBeNull();
    const docs = readdirSync(join(clone.folder('clone'), 'docs'), { recursive: true, encoding: 'utf8' });
    const count = docs.filter((name) => name.endsWith('.md')).length + ['README', 'CONTRIBUTING'].length;
    expect(await demo.firstRun()).toMatchObject({
      connector: { provider_slug: 'filesystem', status: 'active' },
      status: 'completed',
      error_message: null,
      records_fetched: count,
      metadata: { trigger: 'initial', added: count, failed: 0, skipped: 0 },
    });
  });

  it('prints a link that signs in a browser, for a session that is used, renewed and ended', async () => {
    const client = visitor(new CookieClient());
    const arrived = await arrive(client, linkOf(started.screen), first);
    await useSession(client, arrived);
  });

  it('makes the link’s second user a separate principal, who sees nothing of the first', async () => {
    const client = visitor(new CookieClient());
    const arrived = await arrive(client, linkOf(started.screen), second);
    const api = `${new URL(linkOf(started.screen)).origin}/api/v1/spaces/${spaceOf(started.screen)}`;
    expect(refusal(await caller(api, arrived.accessToken)('GET', '/collections'))).toBe(
      '403 collections.read',
    );
    await useSession(client, arrived);
  });

  it('lets the second user into the space by an invite of the first, with the role’s permissions and no more', async () => {
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
  });

  it('shows nothing at the link to another browser with the same address', async () => {
    const victim = visitor(new CookieClient());
    await arrive(victim, linkOf(started.screen), first);
    const thief = visitor(new CookieClient());
    await thief.open(victim.url());
    expect(await thief.textOf('h1')).toBe('Not signed in');
  });

  it.skipIf(browser === undefined)(
    'signs in a headless browser that follows the link',
    async () => {
      const page = visitor(await openBrowser(browser!));
      const arrived = await arrive(page, linkOf(started.screen), first);
      await useSession(page, arrived);
    },
    60_000,
  );

  it.skipIf(browser === undefined)(
    'prints links that all show a page in a browser, with no error and nothing missing',
    async () => {
      const shown = {
        API: '.opblock-summary-path',
        'API page': '.opblock-summary-path',
        'Temporal UI': 'main',
        'Sign in': 'form',
      };
      const window = await launchBrowser(browser!);
      try {
        for (const [name, selector] of Object.entries(shown)) {
          const [, link] = new RegExp(`^ {2}${name} +(https?:\\S+)$`, 'm').exec(started.screen) ?? [];
          const { troubles, text } = await lookAt(window, link ?? '', selector);
          expect(troubles, `${name} ${link}`).toEqual([]);
          expect(text.trim().length, name).toBeGreaterThan(20);
        }
      } finally {
        await window.close();
      }
    },
    300_000,
  );

  it.skipIf(browser === undefined)(
    'prints and documents links into Temporal UI whose filters are in effect and list what they name, and nothing else',
    async () => {
      const { link: ui, links } = filteredLinks(started.screen);
      expect(new Set(links.keys())).toEqual(new Set(Object.keys(listed)));
      const left = await leaveResponses(demoPlace(started.screen), silent.origin);
      const window = await launchBrowser(browser!);
      try {
        for (const [name, { filters, rows }] of Object.entries(listed)) {
          const link = links.get(name)!;
          expect(link.startsWith(ui), `${name} ${link}`).toBe(true);
          const shown = await listAt(window, link);
          expect(shown.troubles, `${name} ${link}`).toEqual([]);
          expect(shown.filters, name).toEqual(filters);
          expect(shown.rows.length, name).toBeGreaterThan(0);
          for (const row of shown.rows) expect(row, name).toMatchObject(rows);
        }
      } finally {
        await window.close();
        await left.end();
      }
    },
    300_000,
  );

  it('reads back and signs in also after a stop and a start', async () => {
    const { curlLines } = started;
    const before = linkOf(started.screen);
    expect((await started.stop()).tookMs).toBeLessThan(stopMs * slack());
    expect(started.output()).toMatch(/^start +\| postgres stopped$/m);
    expect(started.output()).not.toMatch(/unexpected|warning|deprecat/i);

    const again = Date.now();
    started = await clone.start();
    expect(Date.now() - again).toBeLessThan(laterStartMs * slack());
    expect(started.curlLines).toEqual(curlLines);
    expect(await readBack(curlLines[1]!)).toEqual(streamed);
    expect(linkOf(started.screen)).toBe(before);
    const client = visitor(new CookieClient());
    await useSession(client, await arrive(client, before, first));
    expect((await started.stop('signal to npm')).tookMs).toBeLessThan(stopMs * slack());
    expect(started.output()).toMatch(/^start +\| postgres stopped$/m);
  });

  it.skipIf(weights === null)(
    'starts afresh without the embedding model, answers by keyword, and by meaning once the model can be had',
    async () => {
      await started.stop();
      // The rest is embedded within seconds.
      clone.drop(['docs/adr', 'docs/api.md', 'docs/configuration.md', 'docs/operating.md']);
      const model = await modelAddress();
      const separate = {
        PLATFORM_DATA_DIR: clone.folder('data'),
        EMBEDDING_CACHE_DIR: clone.folder('models'),
        EMBEDDING_MODEL_URL: model.url,
      };
      try {
        const since = Date.now();
        started = await clone.start(separate);
        expect(Date.now() - since).toBeLessThan(firstStartMs * slack());
        const demo = demoOf(started.screen);
        expect(await demo.search(demoQuestion)).toMatchObject({
          mode: 'keyword',
          reason: 'not_embedded',
          generation: null,
        });
        const answered = await streamAnswer(started.curlLines[0]!);
        expect(answered.status).toBe('completed');
        expect(citationsOf(answered).length).toBeGreaterThan(0);
        await demo.upload('terms.md', promise);
        expect(citationsOf(await demo.ask(otherWords))).toEqual([]);

        await model.serve();
        await expect
          .poll(async () => (await demo.search(otherWords)).results[0]?.filename, hybridSoon())
          .toBe('terms.md');
        await expect
          .poll(() => demo.search(otherWords), hybridSoon())
          .toMatchObject({ mode: 'hybrid', reason: null });
        const cited = await demo.ask(otherWords);
        expect(textOf(cited)).toContain(promise);
        expect(new Set(citationsOf(cited))).toEqual(new Set(['terms.md']));
        expect((await demo.search(demoQuestion)).mode).toBe('hybrid');
      } finally {
        model.close();
      }
    },
    240_000,
  );
});

/** The links with a filter, printed and documented, and what each row of their lists is. */
const listed: Record<string, { filters: string[]; rows: object }> = {
  Responses: {
    filters: ['WorkflowType = "generateResponse"'],
    rows: { type: 'generateResponse', workflowId: expect.stringMatching(/^response\//) as string },
  },
  Failures: { filters: ['ExecutionStatus = Failed'], rows: { status: 'Failed' } },
  'responses that failed': {
    filters: ['WorkflowType = "generateResponse"', 'ExecutionStatus = Failed'],
    rows: { type: 'generateResponse', status: 'Failed' },
  },
  'responses that run': {
    filters: ['WorkflowType = "generateResponse"', 'ExecutionStatus = Running'],
    rows: { type: 'generateResponse', status: 'Running' },
  },
  'everything that failed': { filters: ['ExecutionStatus = Failed'], rows: { status: 'Failed' } },
  upkeep: {
    filters: ['WorkflowType = "runSweep"'],
    rows: { type: 'runSweep', workflowId: expect.stringMatching(/^upkeep\//) as string },
  },
};

/** Those of the screen, and those of the guide as they are at this start's port. */
function filteredLinks(screen: string): { link: string; links: Map<string, string> } {
  const [, link = ''] = /^ {2}Temporal UI +(http:\S+)$/m.exec(screen) ?? [];
  const guide = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8');
  const documented = linksIn(guide, /^- \[([^\]]+)\]\((http:\S+\?query=\S+)\)$/gm);
  const here = [...documented].map(
    ([name, address]) => [name, address.replace('http://127.0.0.1:8233', link)] as const,
  );
  return { link, links: new Map([...linksIn(screen, /^ {2}(\w+) +(http:\S+\?query=\S+)$/gm), ...here]) };
}

/** The API's address and the demo's key. */
function demoPlace(screen: string): { api: string; key: string } {
  const [, api = ''] = /^ {2}API +(http:\S+)$/m.exec(screen) ?? [];
  const [, key = ''] = /^ {2}Demo key +(\S+)$/m.exec(screen) ?? [];
  return { api, key };
}

const hybridSoon = () => ({ timeout: 90_000 * slack(), interval: 500 });

interface Demo {
  search(query: string): Promise<Found>;
  ask(question: string): Promise<ResponseRecord>;
  upload(filename: string, content: string): Promise<void>;
  /** The oldest run of its only connector. */
  firstRun(): Promise<{ completed_at: string | null; connector: object }>;
}

interface Found {
  mode: string;
  results: { filename: string }[];
}

/** The demo's space, by its key on the screen. */
function demoOf(screen: string): Demo {
  const [, space = ''] = /(http:\S+\/spaces\/[0-9a-f-]{36})\/responses/.exec(screen)!;
  const [, key = ''] = /^ {2}Demo key +(\S+)$/m.exec(screen)!;
  const call = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const answer = await fetch(`${space}${path}`, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(answer.status, `${method} ${path}`).toBeLessThan(300);
    return ((await answer.json()) as { data: T }).data;
  };
  const collection = async () =>
    `/collections/${(await call<{ id: string }[]>('GET', '/collections'))[0]!.id}`;
  return {
    search: (query) => call('POST', '/tools/knowledge_search/execute', { query }),
    ask: async (text) => {
      const { id } = await call<ResponseRecord>('POST', '/responses', { input: { text } });
      const read = () => call<ResponseRecord>('GET', `/responses/${id}`);
      await expect.poll(async () => (await read()).status, { timeout: 20_000 * slack() }).toBe('completed');
      return read();
    },
    upload: async (filename, content) => {
      const body = { filename, content, media_type: 'text/markdown' };
      await call('POST', `${await collection()}/documents`, body);
    },
    firstRun: async () => {
      const connectors = `${await collection()}/connectors`;
      const found = await call<{ id: string }[]>('GET', connectors);
      expect(found).toHaveLength(1);
      const [connector] = found;
      const runs = await call<{ completed_at: string | null }[]>(
        'GET',
        `${connectors}/${connector!.id}/sync`,
      );
      return { ...runs.at(-1)!, connector: connector! };
    },
  };
}

/** Runs the line as it was printed; its stream must end as a stream ends. */
async function streamAnswer(line: string): Promise<ResponseRecord> {
  const { frames, rest } = splitFrames(Buffer.from(await paste(line)));
  expect(rest).toHaveLength(0);
  expect(frames.at(-1)?.data).toBe('[DONE]');
  expect(frames.filter(({ event }) => event === 'response.output_text.delta').length).toBeGreaterThan(0);
  const last = frames.findLast(({ event }) => event !== null);
  expect(last?.event).toBe('response.completed');
  return (last!.json as unknown as { response: ResponseRecord }).response;
}

async function readBack(line: string): Promise<ResponseRecord> {
  const page = JSON.parse(await paste(line)) as { data: ResponseRecord[] };
  expect(page.data).toHaveLength(1);
  return page.data[0]!;
}

async function paste(line: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-c', line]);
  return stdout;
}

function partsOf(response: ResponseRecord) {
  return response.output.flatMap((item) => (item.type === 'message' ? item.content : []));
}

function citationsOf(response: ResponseRecord): string[] {
  return partsOf(response).flatMap(({ annotations }) => annotations.map(({ filename }) => filename));
}

function textOf(response: ResponseRecord): string {
  return partsOf(response)
    .map(({ text }) => text)
    .join('');
}

function pagesOf(screen: string): string[] {
  const urls = [...screen.matchAll(/^ {2}(?:API page|Temporal UI) +(\S+)$/gm)].map(([, url]) => url!);
  expect(urls).toHaveLength(2);
  return urls;
}

async function statusOf(url: string): Promise<number> {
  const { status } = await fetch(url);
  return status;
}
