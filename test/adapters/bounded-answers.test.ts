import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { boundedFetch } from '#adapters/egress/bounded-fetch.ts';
import type { ExceededLimit } from '#adapters/egress/answer-limit-exceeded.ts';
import type { AnswerLimits } from '#adapters/egress/answer-limits.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createTelemetry } from '#adapters/telemetry/metrics.ts';
import { floods, stalls, startHostileAnswers, type HostileAnswers } from '../support/hostile-answers.ts';
import { clientNames, failureOf, outgoingClients, type OutgoingClient } from '../support/outgoing-clients.ts';

interface Flooded {
  client: OutgoingClient;
  flood: string;
  isError: boolean;
  failure: string;
  grownMb: number;
}

/**
 * The allowed memory growth of a process, packages included; a single answer of 96 MB that is read whole
 * exceeds it.
 */
const maxGrownMb = 300;

let server: HostileAnswers;
beforeAll(async () => {
  server = await startHostileAnswers();
});
afterAll(() => server?.stop());

const model = 'ModelFailure model_error retryable';
const flooded: Record<OutgoingClient, { good: string; error: string }> = {
  openai: { good: model, error: model },
  anthropic: { good: model, error: model },
  google: { good: model, error: model },
  openai_compatible: { good: model, error: model },
  tools: { good: 'ToolServerFailure too_large', error: 'ToolServerFailure http_error' },
  names: { good: 'AnswerLimitExceeded', error: 'Error' },
  'sign-in': {
    good: 'DomainError identity_provider_unavailable',
    error: 'DomainError identity_provider_unavailable',
  },
  tokens: { good: 'CredentialFailure unreachable', error: 'CredentialFailure unreachable' },
  traces: { good: 'none', error: 'TraceExportFailure http_error' },
};

it('no answer fills the memory of a process, however it is compressed, in any client', async () => {
  const script = new URL('../support/flooded-clients.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, ['--expose-gc', script, server.origin], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = (await text(child.stdout)).trim().split('\n');
  const answers = lines.map((line) => JSON.parse(line) as Flooded);
  expect(answers).toHaveLength(clientNames.length * floods.length * 2);
  for (const { client, flood, isError, failure } of answers) {
    expect([client, flood, isError, failure]).toEqual([
      client,
      flood,
      isError,
      isError ? flooded[client].error : flooded[client].good,
    ]);
  }
  expect(answers.at(-1)?.grownMb).toBeLessThan(maxGrownMb);
});

const lateModel = 'ModelFailure model_timeout retryable';
const late: Record<OutgoingClient, string> = {
  openai: lateModel,
  anthropic: lateModel,
  google: lateModel,
  openai_compatible: lateModel,
  tools: 'ToolServerFailure timeout',
  names: 'AnswerLimitExceeded',
  'sign-in': 'DomainError identity_provider_unavailable',
  tokens: 'CredentialFailure unreachable',
  traces: 'TraceExportFailure timeout',
};
/** The client needs only the head of the answer. */
const readsNoBody = (client: OutgoingClient, stall: string) =>
  client === 'traces' && !['no-headers', 'endless-1xx'].includes(stall);

describe.each(stalls)('a server that stalls (%s)', (stall) => {
  it('is given up by every client', async () => {
    const clients = outgoingClients([server.origin], {
      headersMs: 300,
      idleMs: 300,
      // Only this attack is neither late with its head nor silent.
      totalMs: stall === 'byte-by-byte' ? 600 : null,
    });
    const failures = await Promise.all(
      clientNames.map(async (client) => [
        client,
        await failureOf(clients[client](`${server.origin}/${stall}`)),
      ]),
    );
    expect(Object.fromEntries(failures)).toEqual(
      Object.fromEntries(
        clientNames.map((client) => [client, readsNoBody(client, stall) ? 'none' : late[client]]),
      ),
    );
    await expect.poll(() => server.open()).toBe(0);
  });
});

describe.each(clientNames)('the client of %s', (client) => {
  const failureAt = (place: string, origins: readonly string[]) =>
    failureOf(outgoingClients(origins)[client](`${server.origin}/${place}`));

  it('follows no redirect to another origin, not even to an allowed one', async () => {
    const before = server.requests('leave');
    expect(await failureAt('leave', [server.origin, server.otherOrigin])).not.toBe('none');
    expect(server.requests('leave')).toBeGreaterThan(before);
    expect(server.requests('left')).toBe(0);
  });

  it(`follows ${client === 'tools' ? 'a' : 'no'} redirect within its origin`, async () => {
    const [from, to] = [server.requests('move'), server.requests('moved')];
    expect(await failureAt('move', [server.origin])).not.toBe('none');
    expect(server.requests('move')).toBeGreaterThan(from);
    expect(server.requests('moved') > to).toBe(client === 'tools');
  });

  it('sends nothing to a private origin that is not allowed', async () => {
    expect(await failureAt('unlisted', [server.otherOrigin])).not.toBe('none');
    expect(server.requests('unlisted')).toBe(0);
  });
});

describe('one reader', () => {
  const bounded = (limits: Partial<AnswerLimits>, exceededAnswers: ExceededLimit[] = []) =>
    boundedFetch('model', {
      fetch: createGuardedFetch([server.origin]),
      limits,
      onLimitExceeded: (exceeded) => exceededAnswers.push(exceeded),
    });
  const saying = (
    body: string | Uint8Array<ArrayBuffer>[],
    init?: ResponseInit,
    limits?: Partial<AnswerLimits>,
  ) =>
    boundedFetch('model', {
      fetch: () =>
        Promise.resolve(new Response(Array.isArray(body) ? ReadableStream.from(body) : body, init)),
      ...(limits === undefined ? {} : { limits }),
    })('https://models.example.com');

  it('reads no further than requested, and counts truncated answers', async () => {
    const exceededAnswers: ExceededLimit[] = [];
    const answer = await bounded(
      { maxBytes: 1_000_000, maxEventBytes: null },
      exceededAnswers,
    )(`${server.origin}/gzip`);
    await expect(answer.text()).rejects.toMatchObject({ name: 'AnswerLimitExceeded', limit: 'bytes' });
    expect(exceededAnswers).toEqual([{ use: 'model', limit: 'bytes', bytes: expect.any(Number) as number }]);
    expect(exceededAnswers[0]?.bytes).toBeLessThan(1_200_000);
    await expect.poll(() => server.open()).toBe(0);
  });

  it('ends an error answer early, and keeps its status', async () => {
    const exceededAnswers: ExceededLimit[] = [];
    const answer = await bounded(
      { maxErrorBytes: 1_000 },
      exceededAnswers,
    )(`${server.origin}/endless-line/error`);
    expect([answer.status, await answer.text()]).toEqual([500, 'a'.repeat(1_000)]);
    expect(exceededAnswers).toMatchObject([{ limit: 'bytes' }]);
  });

  it('lets through an answer of exactly the maximum length', async () => {
    const event = `data: ${'a'.repeat(90)}\r\n\r\n`;
    const whole = event.repeat(50);
    for (const size of [1, 7, 4_096]) {
      const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_, i) =>
        Uint8Array.from(Buffer.from(whole.slice(i * size, (i + 1) * size))),
      );
      const limits = { maxBytes: whole.length, maxEventBytes: 98 };
      expect(await (await saying(pieces, {}, limits)).text()).toBe(whole);
    }
    await expect(
      saying(event, {}, { maxEventBytes: 96 }).then((answer) => answer.text()),
    ).rejects.toMatchObject({ limit: 'event' });
  });

  it.each(['\n', '\r', '\r\n'])('recognises an empty line (%j) as the end of an event', async (end) => {
    const whole = `data: a${end}${end}`.repeat(1_000);
    expect(await (await saying(whole, {}, { maxEventBytes: 12 })).text()).toBe(whole);
    const lines = `data: a${end}`.repeat(10);
    await expect(
      saying(lines, {}, { maxEventBytes: 60 }).then((answer) => answer.text()),
    ).rejects.toMatchObject({ limit: 'event' });
  });

  it('accepts no answer that is compressed more than once', async () => {
    await expect(saying('', { headers: { 'content-encoding': 'gzip, gzip' } })).rejects.toMatchObject({
      name: 'AnswerLimitExceeded',
      limit: 'encodings',
    });
  });

  it('does not count time without a read as silence of the server', async () => {
    const answer = await saying('Tides', {}, { idleMs: 20 });
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(await answer.text()).toBe('Tides');
  });
});

it('truncated answers are counted in the metrics, by use and limit', async () => {
  const telemetry = createTelemetry();
  telemetry.answerCutOff({ use: 'tool_server', limit: 'event', bytes: 5_000 });
  const scraped = await telemetry.scrape();
  expect(scraped).toContain('answers_cut_off_total{use="tool_server",limit="event"} 1');
  expect(scraped).toContain('answers_cut_off_bytes_total{use="tool_server"} 5000');
  await telemetry.close();
});
