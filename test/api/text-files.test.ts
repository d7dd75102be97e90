import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PromptMessage } from '#domain/capabilities/models/model-gateway.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { openGateway, verdict, type Answer, type TestGateway } from '../support/gateway.ts';

let engine: Engine;
let gateway: TestGateway;
beforeAll(async () => {
  engine = await openEngine({ inputModalities: ['text', 'file'] });
  gateway = await openGateway(engine.database);
});
afterAll(async () => {
  await gateway?.close();
  await engine?.stop();
});

const table = 'Name\tAddress\nZoë\tanna@example.org\n';
const utf16 = (text: string) => Buffer.from(text, 'utf16le');
const marked = [
  ['UTF-8', Buffer.from(`\ufeff${table}`)],
  ['UTF-16LE', utf16(`\ufeff${table}`)],
  ['UTF-16BE', utf16(`\ufeff${table}`).swap16()],
] as const;
const noText = [
  ['UTF-16LE without a mark', utf16(table)],
  ['UTF-16BE without a mark', utf16(table).swap16()],
  ['half a character of UTF-16', utf16(`\ufeff${table}`).subarray(0, -1)],
  [
    'UTF-32LE',
    Buffer.from([
      0xff,
      0xfe,
      0,
      0,
      ...Array.from('anna@example.org', (letter) => [letter.charCodeAt(0), 0, 0, 0]).flat(),
    ]),
  ],
  ['UTF-8 with NULs', Buffer.from(Array.from(table).join('\0'))],
  ['Windows-1252', Buffer.from(table, 'latin1')],
] as const;

const urlOf = (bytes: Buffer) => `data:text/csv;base64,${bytes.toString('base64')}`;
const govern = (mode: string) =>
  engine.admin.query('update spaces set policy = $1', [JSON.stringify({ version: 2, pii: { mode } })]);

/** With the status of an invalid request; each asks about one file. The second answers only when its response ends. */
const surfaces = [
  [
    'native',
    422,
    (file: string): Promise<Answer> =>
      post('/api', 'responses', {
        input: { role: 'user', content: [{ type: 'input_file', filename: 'a.csv', file_data: file }] },
        tools: [],
      }),
  ],
  [
    'OpenAI’s',
    400,
    (file: string): Promise<Answer> =>
      post('/api-proxy', 'openai/responses', {
        model: 'paid',
        input: [{ role: 'user', content: [{ type: 'input_file', filename: 'a.csv', file_data: file }] }],
      }),
  ],
] as const;

function post(prefix: '/api' | '/api-proxy', path: string, body: object): Promise<Answer> {
  const { spaceId, apiKey } = engine.world;
  return gateway.send({ method: 'POST', prefix, path: `/v1/spaces/${spaceId}/${path}`, apiKey, body });
}

async function ids(): Promise<string[]> {
  const { rows } = await engine.admin.query<{ id: string }>('select id from responses');
  return rows.map(({ id }) => id);
}

/** @returns the prompt for the file, and the file as its sender reads it back */
async function readBy(ask: (file: string) => Promise<Answer>, file: string) {
  const before = await ids();
  const answer = ask(file);
  let [id] = [] as string[];
  while (id === undefined) {
    [id] = (await ids()).filter((each) => !before.includes(each));
  }
  const attempt = await engine.attempt(id);
  await attempt.say('Read.');
  await attempt.commit();
  expect((await answer).status).toBeLessThan(300);
  const { spaceId, apiKey } = engine.world;
  const path = `/v1/spaces/${spaceId}/responses/${id}/input_items`;
  const items = await gateway.send({ method: 'GET', path, apiKey });
  return { prompt: textOf(attempt.turn.messages), sent: items.body.data[0].content[0].file_data as string };
}

const textOf = (messages: readonly PromptMessage[]) =>
  messages.flatMap((message) => (message.role === 'user' ? [message.text] : [])).join('\n');

describe.each(surfaces)('a text file on the %s surface', (_surface, refused, ask) => {
  it.each(marked)('in %s with a mark reaches the model as readable text', async (_encoding, bytes) => {
    await govern('off');
    expect(await readBy(ask, urlOf(bytes))).toEqual({ prompt: `a.csv:\n${table}`, sent: urlOf(bytes) });
  });

  it.each(marked)(
    'in %s with a mark is screened, and its sender reads its bytes',
    async (_encoding, bytes) => {
      await govern('redact');
      const { prompt, sent } = await readBy(ask, urlOf(bytes));
      expect(prompt).toMatch(/^a\.csv:\nName\tAddress\nZoë\t\[EMAIL_\w{12}\]\n$/);
      expect(sent).toBe(urlOf(bytes));
      await govern('block');
      expect(verdict(await ask(urlOf(bytes)))).toBe('403 content_blocked');
    },
  );

  it.each(noText)('that is %s is refused', async (_encoding, bytes) => {
    for (const mode of ['off', 'redact', 'block']) {
      await govern(mode);
      const answer = await ask(urlOf(bytes));
      expect(answer.status, answer.text).toBe(refused);
      expect(answer.body.error).toMatchObject({
        code: 'invalid_request',
        message: 'A text file must be UTF-8, or UTF-16 with a byte order mark.',
      });
    }
  });
});
