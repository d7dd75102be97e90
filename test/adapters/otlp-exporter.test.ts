import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createTraceExporter } from '#adapters/observability/otlp-exporter.ts';
import type { ResponseTrace } from '#domain/operations/observability/response-trace.ts';
import { plainTrace } from '../support/plain-trace.ts';
import { startTraceReceiver, type TraceReceiver } from '../support/trace-receiver.ts';

let receiver: TraceReceiver;

beforeAll(async () => {
  receiver = await startTraceReceiver();
});
beforeEach(() => {
  receiver.arrivals.length = 0;
  receiver.answer = 200;
});
afterAll(() => receiver.stop());

const at = new Date('2026-11-21T10:00:00.250Z');
const trace: ResponseTrace = {
  ...plainTrace(at),
  generations: [
    {
      spanId: 'c'.repeat(16),
      iteration: 0,
      attempt: 2,
      outcome: 'committed',
      failureCode: null,
      usage: { inputTokens: 100, cachedInputTokens: 40, outputTokens: 20, reasoningTokens: 5 },
      costPicoUsd: 360_000_000n,
      estimated: false,
      startedAt: at,
      endedAt: new Date(at.getTime() - 5),
    },
  ],
};
const keys = { publicKey: 'pk', secretKey: 'sk:with:colons', projectId: null };

const exporter = (options: { allowed?: string[]; defaultBaseUrl?: string | null; timeoutMs?: number } = {}) =>
  createTraceExporter({
    fetch: createGuardedFetch(options.allowed ?? [receiver.origin]),
    defaultBaseUrl: options.defaultBaseUrl ?? null,
    ...(options.timeoutMs === undefined ? {} : { limits: { headersMs: options.timeoutMs } }),
  });
const never = new AbortController().signal;
const send = (of: ReturnType<typeof exporter>, baseUrl: string | null = receiver.url) =>
  of.export({ ...keys, baseUrl }, trace, never);

describe('a trace', () => {
  it('counts no token twice, and no span ends before it began', async () => {
    await send(exporter());
    const [, generation] = receiver.arrivals[0]!.spans;
    expect(receiver.arrivals[0]!.credentials).toBe('pk:sk:with:colons');
    expect(JSON.parse(String(generation!.attributes['langfuse.observation.usage_details']))).toEqual({
      input: 60,
      input_cached_tokens: 40,
      output: 15,
      output_reasoning_tokens: 5,
      total: 120,
    });
    expect(JSON.parse(String(generation!.attributes['langfuse.observation.cost_details']))).toEqual({
      total: 0.000_36,
    });
    expect([generation!.startMs, generation!.endMs]).toEqual([at.getTime(), at.getTime()]);
  });

  it('goes to the deployment’s address when the space names none, and nowhere when there is none', async () => {
    await send(exporter({ defaultBaseUrl: receiver.url }), null);
    expect(receiver.arrivals).toHaveLength(1);
    await expect(send(exporter(), null)).rejects.toMatchObject({ code: 'no_endpoint', passes: false });
  });

  it.each([
    [401, 'unauthorized', false],
    [403, 'unauthorized', false],
    [400, 'http_error', false],
    [302, 'http_error', false],
    [408, 'http_error', true],
    [429, 'http_error', true],
    [503, 'http_error', true],
  ])('that is answered with %i fails as %s, to be tried again: %s', async (status, code, passes) => {
    receiver.answer = status;
    await expect(send(exporter())).rejects.toMatchObject({ code, passes });
  });

  it('has a time limit, and reaches no address that is not public', async () => {
    receiver.answer = 'never';
    await expect(send(exporter({ timeoutMs: 50 }))).rejects.toMatchObject({ code: 'timeout', passes: true });
    await expect(send(exporter({ allowed: [] }))).rejects.toMatchObject({
      code: 'url_not_allowed',
      passes: false,
    });
    await expect(send(exporter({ allowed: [] }), 'https://127.0.0.1')).rejects.toMatchObject({
      code: 'url_not_allowed',
    });
    const gone = 'http://127.0.0.1:1';
    await expect(send(exporter({ allowed: [gone] }), gone)).rejects.toMatchObject({
      code: 'unreachable',
      passes: true,
    });
  });

  it('does not wait behind four that hang at the same origin', async () => {
    receiver.answer = 'never';
    const one = exporter({ timeoutMs: 500 });
    const hanging = Array.from({ length: 4 }, () => send(one).catch((error: unknown) => error));
    await sleep(50);
    await expect(send(one)).rejects.toMatchObject({ code: 'busy', passes: true });
    await Promise.all(hanging);
    receiver.answer = 200;
    await expect(send(one)).resolves.toBeUndefined();
  });
});
