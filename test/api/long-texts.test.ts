import * as fc from 'fast-check';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRedactionThreads, gatewayRedaction } from '#adapters/governance/redaction-threads.ts';
import {
  redactBeforehand,
  RedactionNeeded,
  withNames,
  type FoundNames,
  type NameRecogniser,
} from '#domain/governance/redaction/found-names.ts';
import { piiSettings } from '#domain/governance/policy/pii-settings.ts';
import { Redactor } from '#domain/governance/redaction/redact.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { countThreadMs } from '../support/thread-time.ts';
import { connect } from '../support/tables.ts';
import { createWorld, scriptedModel, secrets, type World } from '../support/world.ts';

const countries = [
  'DE',
  'FR',
  'GB',
  'US',
  'IT',
  'ES',
  'NL',
  'BE',
  'AT',
  'CH',
  'PL',
  'SE',
  'NO',
  'DK',
] as const;
const settings = piiSettings.parse({
  mode: 'redact',
  phone_countries: countries,
  presidio_url: 'https://names.example.com',
});
const options = { ...settings, secrets, scope: 'a', tokens: 'foreign' as const };
const longTexts = createRedactionThreads(secrets, gatewayRedaction);
const grace = (text: string) =>
  Array.from(text.matchAll(/Grace/g), ({ index }) => ({
    kind: 'person' as const,
    start: index,
    end: index + 5,
  }));
const search = { tenantId: 'a', signal: new AbortController().signal };
const names: NameRecogniser = { find: (_url, _language, texts) => Promise.resolve(texts.map(grace)) };

/** Of this thread alone, which also runs the gateway. */
async function processorMs(work: () => unknown): Promise<number> {
  const spent = countThreadMs();
  await work();
  return spent();
}

interface Texts {
  said: string;
  document: string;
}
const work =
  ({ said, document }: Texts) =>
  (redactor: Redactor) => ({
    said: redactor.text(said),
    again: redactor.text(said),
    document: redactor.maybeJson(document),
    parts: redactor.value({ said, list: [document, 1] }),
  });

/** As in a gateway, round by round. */
async function inThreads(texts: Texts) {
  let known: FoundNames | null = null;
  for (let round = 0; round < 3; round += 1) {
    try {
      return withNames(options, known, work(texts));
    } catch (error) {
      if (!(error instanceof RedactionNeeded)) throw error;
      known = await redactBeforehand({ names, longTexts }, search, { needed: error, known });
    }
  }
  throw new Error('There is always another text.');
}

describe('a long text', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      'a@b.example ',
      '030 1234567 ',
      '+49 30 1234567, ',
      '10.1.2.3 ',
      'Grace ',
      '4111 1111 1111 1111 ',
    ),
    fc.constantFrom('[EMAIL_aaaaaaaaaaaa]', '"', '\\', '{', '\n', '\ud800', '😀', '[', 'sk-'),
    fc.string({ unit: 'binary', maxLength: 40 }),
  );
  const text = fc
    .array(piece, { minLength: 1, maxLength: 40 })
    .map((parts) => parts.join('').repeat(20).padEnd(1_200, 'word '));

  it('is redacted in a thread exactly as on the event loop', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, async (said, other) => {
        const texts = { said, document: JSON.stringify({ other, number: 4_930_123_456_789 }) };
        const direct = new Redactor({ ...options, phoneCountries: countries, names: grace });
        const { redactor, result } = await inThreads(texts);
        expect(result).toEqual(work(texts)(direct));
        expect(redactor.entries).toEqual(direct.entries);
      }),
      { numRuns: 20 },
    );
  });

  it('needs a thread, and a short one does not', () => {
    const one = (said: string) => withNames({ ...options, presidio_url: null }, null, (r) => r.text(said));
    expect(one('a@b.example').result).toMatch(/^\[EMAIL_/);
    expect(() => one('word '.repeat(20_000))).toThrow(RedactionNeeded);
  });
});

describe('a gateway', () => {
  let database: TestDatabase;
  let gateway: TestGateway;
  let admin: Client;
  let world: World;

  beforeAll(async () => {
    database = await createTestDatabase();
    gateway = await openGateway(database);
    admin = await connect(database.adminUrl);
    world = await createWorld(database.unitOfWork, [
      scriptedModel({ url: 'http://127.0.0.1:9/v1' }, 'never-called'),
    ]);
    const pii = { mode: 'redact', kinds: settings.kinds, phone_countries: [...countries] };
    expect((await send('PUT', 'governance', { pii })).status).toBe(200);
  });
  afterAll(async () => {
    await gateway?.close();
    await admin?.end();
    await database?.drop();
  });

  const send = (method: string, path: string, body?: unknown) =>
    gateway.send({
      method,
      path: `/v1/spaces/${world.spaceId}/${path}`,
      apiKey: world.apiKey,
      ...(body === undefined ? {} : { body }),
    });

  it('screens a message of a megabyte without blocking its event loop', async () => {
    const content = `${'Some words, a@b.example and 10.1.2.3 or 1:2:3. '.repeat(20_000)}${'030 12345 '.repeat(2_000)}`;
    await send('POST', 'threads/messages', { content: content.slice(0, 50_000), role: 'user' });
    const direct = await processorMs(() =>
      new Redactor({ ...options, phoneCountries: countries }).text(content),
    );
    const sent = { status: 0, body: {} as Record<string, unknown> };
    const here = await processorMs(async () =>
      Object.assign(sent, await send('POST', 'threads/messages', { content, role: 'user' })),
    );
    expect(sent.status).toBe(201);
    expect(here).toBeLessThan(direct / 3);
    expect((sent.body.data as { content: string }).content).toBe(content);
    const { rows } = await admin.query<{ content: string }>(
      'select content from messages order by length(content) desc',
    );
    expect(rows[0]?.content).toMatch(/^Some words, \[EMAIL_[a-z2-7]{12}\] and /);
  });

  it('accepts a response to a long text under the tokens of its own conversation', async () => {
    const input = `${'Some words. '.repeat(5_000)}a@b.example`;
    const created = await send('POST', 'responses', { input: { text: input }, tools: [] });
    expect(created.status).toBe(202);
    const { id } = created.body.data as { id: string };
    const items = await send('GET', `responses/${id}/input_items`);
    expect(JSON.stringify(items.body)).toContain('a@b.example');
    const { rows } = await admin.query<{ found: boolean }>(
      `select exists (select from items where wire like '%a@b.example%') as found`,
    );
    expect(rows[0]?.found).toBe(false);
  });
});
