import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { piiKinds } from '#domain/governance/recognition/pii-kinds.ts';
import { recognise } from '#domain/governance/recognition/recognise.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { cleanTexts, kinds, plant, sentenceOf, type Planted } from '../support/personal-data.ts';
import { textOf } from '../support/responses-client.ts';
import { followResponse } from '../support/sse-recorder.ts';
import { checkStream } from '../support/stream-checker.ts';
import { startToolServer, type ToolServer } from '../support/tool-servers.ts';
import { openToolWorld, type ToolWorld } from '../support/tool-world.ts';
import { addMember } from '../support/world.ts';

const planted = plant(50);
/** Ten to a text: a third of the texts are inputs, a third documents, a third tool results. */
const batches = Array.from({ length: 30 }, (_, i) => planted.slice(i * 10, i * 10 + 10));
const [asked, documents, records] = [batches.slice(0, 10), batches.slice(10, 20), batches.slice(20)];
const textFor = (batch: readonly Planted[]) => batch.map(sentenceOf).join('\n');
const topics = [
  'harbour',
  'lantern',
  'glacier',
  'orchard',
  'violin',
  'compass',
  'meadow',
  'furnace',
  'saddle',
  'quarry',
];

let tools: ToolWorld;
let server: ToolServer;
let admin: Client;

const scripts = [
  { name: 'echo', echo: true as const, text: '', tokenDelayMs: 0 },
  ...topics.map((topic) => ({ name: topic, echo: true as const, text: '', toolRounds: 1, toolQuery: topic })),
  ...topics.map((topic, i) => ({
    name: `record-${topic}`,
    echo: true as const,
    text: '',
    calls: [[{ name: 'mcp__open__record', arguments: { item: `item-${i}` } }]],
  })),
  {
    name: 'tell-both',
    echo: true as const,
    text: '',
    calls: [
      [
        { name: 'mcp__open__lookup', arguments: { item: '$user' } },
        { name: 'mcp__closed__unkeyed_add', arguments: { item: '$user' } },
        { name: 'mcp__open__unkeyed_add', arguments: { item: '$user' } },
      ],
    ],
  },
  {
    name: 'tell-plain',
    echo: true as const,
    text: '',
    // As a model writes personal data without a token; every other value within JSON of its own.
    calls: [
      batches.map((batch, i) => ({
        name: 'mcp__closed__unkeyed_add',
        arguments: { item: i % 2 === 0 ? textFor(batch) : JSON.stringify({ rows: batch.map(sentenceOf) }) },
      })),
    ],
  },
  { name: 'slow', echo: true as const, text: '', tokenDelayMs: 15 },
];

beforeAll(async () => {
  server = await startToolServer();
  await server.control({
    records: Object.fromEntries(
      records.map((batch, i) => [
        `item-${i}`,
        i % 2 === 0
          ? textFor(batch)
          : JSON.stringify({ rows: batch.map(sentenceOf), total: batch.length }, null, 1),
      ]),
    ),
  });
  tools = await openToolWorld({ scripts, origins: [server.origin], workers: 2 });
  ({ admin } = tools);
  for (const slug of ['open', 'closed']) {
    await tools.update(await tools.register(slug, server.url), { enabled_tools: ['*'] });
  }
  const governed = await tools.call('PUT', 'governance', {
    pii: { mode: 'redact', restore_in_tool_arguments: ['open'] },
  });
  expect(governed.status).toBe(200);
  await addDocuments();
});
afterAll(async () => {
  await tools?.stop();
  await server?.stop();
});

/** Every third value of a document has a zero-width space in its middle, as pages break long words. */
function writtenIn(each: Planted, n: number): string {
  const { value } = each;
  const middle = Math.floor(value.length / 2);
  const parts = [value.slice(0, middle), value.slice(middle)];
  return sentenceOf(each).replace(value, () => parts.join(n % 3 === 0 ? '\u200b' : ''));
}

async function addDocuments(): Promise<void> {
  const made = (await tools.call('POST', 'collections', { name: 'Papers' })) as unknown as {
    data: { id: string };
  };
  const at = `collections/${made.data.id}/documents`;
  for (const [i, batch] of documents.entries()) {
    const topic = topics[i]!;
    const content = batch.map((each, n) => `About the ${topic}. ${writtenIn(each, n)}`).join('\n\n');
    await tools.call('POST', at, { filename: `${topic}.txt`, media_type: 'text/plain', content });
  }
  for (;;) {
    const list = (await tools.call('GET', at)) as unknown as { data: { status: string }[] };
    if (list.data.every(({ status }) => status === 'ready')) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** All requests to a model's provider, decoded. */
const modelWire = () => tools.models.requests.map(({ body }) => strings(body)).join('\n');

function strings(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' && value !== null ? Object.values(value).map(strings).join('\n') : '';
}

/** All calls of tool servers. */
const toolWire = () =>
  server
    .arrivals()
    .map(({ item }) => item)
    .join('\n');

/** Digits and letters only: a value is recognised in any notation. */
const bare = (text: string) => text.replaceAll(/[^\p{L}\p{N}]/gu, '').toLowerCase();

function countLeaks(name: string, wire: string) {
  const bareWire = bare(wire);
  return kinds.map((kind) => {
    const mine = planted.filter((each) => each.kind === kind);
    const arrived = mine.filter(({ mark }) => wire.includes(mark));
    const leaked = arrived.filter(({ value }) => wire.includes(value) || bareWire.includes(bare(value)));
    return {
      wire: name,
      kind,
      planted: mine.length,
      arrived: arrived.length,
      leaked: leaked.map(({ value }) => value),
      recall: (arrived.length - leaked.length) / arrived.length,
    };
  });
}

describe('a space that demands redaction', () => {
  it('lets none of 300 planted items reach the model or a closed tool server, from any source', async () => {
    const outputs: ResponseRecord[] = [];
    for (const batch of asked) {
      outputs.push(await tools.ask('echo', { input: { text: textFor(batch) }, tools: [] }));
    }
    for (const topic of topics) {
      outputs.push(
        await tools.ask(topic, {
          input: { text: `Tell all of the ${topic}.` },
          tools: [{ type: 'knowledge_search', max_num_results: 20 }],
        }),
      );
    }
    for (const topic of topics) {
      outputs.push(await tools.ask(`record-${topic}`, { tools: ['mcp__open__*'] }));
    }
    const received = await tools.ask('tell-plain', { tools: ['mcp__closed__*'] });
    expect(new Set([...outputs, received].map(({ status }) => status))).toEqual(new Set(['completed']));
    const lines = [...countLeaks('model', modelWire()), ...countLeaks('server', toolWire())];
    console.log(
      lines
        .map(
          ({ wire, kind, planted: all, arrived, leaked, recall }) =>
            `${wire.padEnd(6)} ${kind.padEnd(8)} planted ${all} arrived ${arrived} leaked ${leaked.length} recall ${recall.toFixed(3)} ${leaked.join(' | ')}`,
        )
        .join('\n'),
    );
    for (const { wire, kind, planted: all, arrived, recall } of lines) {
      expect({ wire, kind, arrived }).toEqual({ wire, kind, arrived: all });
      expect({ wire, kind, recall }).toEqual({ wire, kind, recall: 1 });
    }
    // The requester reads the model's own text.
    const written = received.output.flatMap((item) => (item.type === 'mcp_call' ? [item.arguments] : []));
    expect(planted.filter(({ value }) => !written.some((args) => args.includes(value)))).toEqual([]);
    // The requester reads all of it, character by character.
    for (const [i, batch] of asked.entries()) {
      expect(batch.every(({ value }) => textOf(outputs[i]!).includes(value))).toBe(true);
    }
    const answers = outputs.map(textOf).join('\n');
    expect(planted.filter(({ value }) => !answers.includes(value))).toEqual([]);
  });

  it('leaves 200 clean texts unchanged', () => {
    const found = cleanTexts().flatMap((text) =>
      recognise(text, { kinds: piiKinds, phoneCountries: [] }).map(
        ({ kind, start, end }) => `${kind}: ${text.slice(start, end)}`,
      ),
    );
    console.log(`false positives on 200 clean texts: ${found.length} ${found.join(' | ')}`);
    expect(found.length).toBeLessThanOrEqual(2);
  });

  it('sends values to a tool server only where the space allows it', async () => {
    const [email, phone] = [planted[0]!, planted[1]!];
    const text = `Tell ${email.value} and ${phone.value}.`;
    const before = server.arrivals().length;
    const record = await tools.ask('tell-both', {
      input: { text },
      tools: ['mcp__open__*', 'mcp__closed__*'],
    });
    const received = server
      .arrivals()
      .slice(before)
      .map(({ item }) => item)
      .sort();
    expect(received).toHaveLength(2);
    expect(received).toContain(text);
    const tokens = received.find((item) => item !== text)!;
    expect(tokens).toMatch(/^Tell \[EMAIL_[a-z2-7]{12}\] and \[PHONE_[a-z2-7]{12}\]\.$/);
    expect(modelWire()).not.toContain(email.value);
    // Its owner sees the text sent to each server, and each answer.
    const calls = record.output.flatMap((item) => (item.type === 'mcp_call' ? [item] : []));
    expect(calls.map(({ arguments: args }) => JSON.parse(args) as unknown)).toEqual(
      calls.map(() => ({ item: text })),
    );
    expect(calls[0]?.output).toBe(`${text} is in the box`);
  });

  it('shows tokens to principals who may read a response but no personal data', async () => {
    const text = `Mine: ${planted[0]!.value}`;
    const record = await tools.ask('echo', { input: { text }, tools: [] });
    const reader = await addMember(tools.database.unitOfWork, tools.world, { spaceRole: 'space_admin' });
    const get = async (path: string) => {
      const answer = await fetch(tools.client.url(`/${record.id}${path}`), {
        headers: { 'X-API-Key': reader.apiKey },
      });
      return answer.text();
    };
    for (const path of ['', '?stream=true', '/input_items', '/events']) {
      const shown = await get(path);
      expect(shown).toMatch(/\[EMAIL_[a-z2-7]{12}\]/);
      expect(shown).not.toContain(planted[0]!.value);
    }
    const items = await tools.client.call<{ content: { text: string }[] }[]>(`/${record.id}/input_items`);
    expect(items.data[0]?.content[0]?.text).toBe(text);
    expect(record.platform.governance_applied).toMatchObject({ redactions: 1, pii: { mode: 'redact' } });
  });

  it('continues from the exact character after a kill, restored for its reader', async () => {
    const text = planted.slice(0, 24).map(sentenceOf).join(' ');
    const killed: Promise<unknown>[] = [];
    const recording = await followResponse({
      request: () => ({
        url: tools.client.url(),
        method: 'POST',
        headers: { ...tools.client.headers, 'content-type': 'application/json' },
        body: { input: { text }, model: 'slow', tools: [], stream: true },
      }),
      onFrame: (frame) => {
        if (killed.length === 0 && frame.id?.endsWith(':14')) {
          const workers = tools.stack.workers.splice(0);
          killed.push(...workers.map((worker) => worker.kill()), tools.stack.start('worker'));
        }
      },
    });
    await Promise.all(killed);
    const final = await tools.client.read(recording.responseId!);
    expect(final.status).toBe('completed');
    expect(final.platform.attempts).toBeGreaterThan(1);
    expect(textOf(final)).toBe(text);
    expect(
      checkStream({ responseId: recording.responseId!, segments: recording.segments, final: { ...final } }),
    ).toEqual([]);
    const replays = await Promise.all(
      [-1, -1, 7].map(async (after) => {
        const query = after === -1 ? '?stream=true' : `?stream=true&starting_after=${after}`;
        const answer = await fetch(tools.client.url(`/${final.id}${query}`), {
          headers: tools.client.headers,
        });
        return answer.text();
      }),
    );
    expect(replays[1]).toBe(replays[0]);
    expect(replays[0]!.endsWith(replays[2]!.slice(replays[2]!.indexOf('id: ')))).toBe(true);
  });

  it('stores personal data only sealed, and records that it was found without its value', async () => {
    const dump: string[] = [];
    for (const table of [
      'items',
      'stream_runs',
      'responses',
      'messages',
      'tool_calls',
      'redactions',
      'events',
      'turns',
      'outbox',
    ]) {
      const { rows } = await admin.query(`select to_jsonb(t)::text as row from ${table} t`);
      dump.push(...rows.map(({ row }: { row: string }) => row));
    }
    const all = dump.join('\n');
    expect(planted.filter(({ value }) => all.includes(value)).map(({ kind }) => kind)).toEqual([]);
    const { rows } = await admin.query<{ metadata: Record<string, unknown>; n: string }>(
      `select resource_id, count(*) as n from events where event_type = 'security.pii_detected' group by 1 having count(*) > 1`,
    );
    expect(rows).toEqual([]);
    const events = await admin.query<{ metadata: Record<string, unknown> }>(
      `select metadata from events where event_type = 'security.pii_detected' limit 1`,
    );
    expect(events.rows[0]?.metadata).toMatchObject({ total: expect.any(Number) as number });
  });
});
