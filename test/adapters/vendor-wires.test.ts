import { afterEach, describe, expect, it } from 'vitest';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { anthropic } from '#adapters/models/anthropic.ts';
import { google } from '#adapters/models/google.ts';
import { modelRouter } from '#adapters/models/model-router.ts';
import { openAi } from '#adapters/models/openai.ts';
import { openAiCompatible } from '#adapters/models/openai-compatible.ts';
import { knowledgeTool } from '#domain/knowledge/search/knowledge-definition.ts';
import type { ModelPart, ModelRequest, PromptMessage } from '#domain/capabilities/models/model-gateway.ts';
import { modelRequest } from '../support/model-request.ts';
import { startWireFake, type FakeScript, type WireFake } from '../support/wire-fakes/fake-server.ts';
import { fakeKind, fakeKinds, type FakeKind } from '../support/wire-fakes/index.ts';

const text = 'The tide turns twice a day, and the harbour master writes both hours on the board.';
const script: FakeScript = { text, toolRounds: 2, reasoning: 'I should look that up', refusesPrefill: true };

let fake: WireFake;
/** Parts of the last call, also of a failed one. */
let arrived: ModelPart[];
afterEach(() => fake?.stop());

async function open(of: FakeKind, change: Partial<FakeScript> = {}) {
  fake = await startWireFake(of.vendor(), { ...script, ...change });
  const vendor = { fetch: createGuardedFetch([fake.origin]), credential: () => 'a-key' };
  const models = modelRouter({
    openai: openAi(vendor),
    anthropic: anthropic(vendor),
    google: google(vendor),
    openai_compatible: openAiCompatible(vendor),
  });
  return async (request: Partial<ModelRequest>, model: Partial<ModelRequest['model']> = {}) => {
    const parts: ModelPart[] = [];
    arrived = parts;
    const asked = modelRequest(
      {
        providerKind: of.kind,
        providerModel: of.providerModel,
        baseUrl: `${fake.origin}${of.path}`,
        credentialRef: 'KEY',
        supportsReasoning: true,
        ...model,
      },
      request,
    );
    for await (const part of models.stream(asked, new AbortController().signal)) {
      parts.push(part);
    }
    return parts;
  };
}

const thinking: Partial<ModelRequest> = { tools: [knowledgeTool], reasoningEffort: 'low' };
const saidIn = (parts: ModelPart[]) => parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

/** The output of a turn, as the next turn sends it; `keep` decides about the provider's state. */
function received(parts: ModelPart[], round: number, keep: boolean): PromptMessage[] {
  const calls = parts.flatMap((part) => (part.type === 'tool_call' ? [part] : []));
  const reasoning = parts.flatMap((part) =>
    part.type === 'reasoning' ? [{ text: part.text, state: part.state }] : [],
  );
  return [
    {
      role: 'assistant',
      text: '',
      ...(keep && reasoning.length > 0 ? { reasoning } : {}),
      calls: calls.map((call, i) => ({
        callId: `call_${round}_${i}`,
        name: call.name,
        arguments: call.arguments,
        ...(keep && call.state !== null ? { state: call.state } : {}),
      })),
    },
    ...calls.map((call, i): PromptMessage => ({
      role: 'tool',
      callId: `call_${round}_${i}`,
      name: call.name,
      result: 'Nothing was found.',
    })),
  ];
}

async function loop(of: FakeKind, keep: boolean): Promise<string> {
  const ask = await open(of);
  const messages: PromptMessage[] = [
    { role: 'system', text: 'Be brief.' },
    { role: 'user', text: 'When does the tide turn?' },
  ];
  for (let round = 0; ; round += 1) {
    const parts = await ask({ ...thinking, messages });
    if (!parts.some(({ type }) => type === 'tool_call')) {
      return saidIn(parts);
    }
    messages.push(...received(parts, round, keep));
  }
}

describe.each(fakeKinds)('$kind', (of) => {
  it("two tool rounds with reasoning end with the model's text when its state comes back", async () => {
    await expect(loop(of, true)).resolves.toBe(text);
    expect(fake.refusals()).toEqual([]);
    expect(fake.requests.length).toBe(3);
  });

  it('the vendor refuses the second round when its state was dropped', async () => {
    if (of.kind === 'anthropic') {
      // Then the adapter requests no reasoning, which the vendor allows.
      await expect(loop(of, false)).resolves.toBe(text);
      expect((fake.requests[1]!.body as { thinking?: unknown }).thinking).toBeUndefined();
      return;
    }
    await expect(loop(of, false)).rejects.toMatchObject({ name: 'ModelFailure', retryable: false });
    expect(fake.refusals().length).toBe(1);
  });

  it('continues after the text from before a crash', async () => {
    const ask = await open(of, { toolRounds: 0 });
    const messages: PromptMessage[] = [
      { role: 'user', text: 'When?' },
      { role: 'assistant', text: text.slice(0, 30), calls: [] },
      {
        role: 'user',
        text: 'Your answer was cut off. Continue it at exactly the character at which it ends.',
      },
    ];
    expect(saidIn(await ask({ messages }))).toBe(text.slice(30));
  });

  it('carries a schema for JSON, strictly where asked', async () => {
    const ask = await open(of, { toolRounds: 0 });
    const schema = {
      type: 'object',
      properties: { hour: { type: 'number' } },
      required: ['hour'],
      additionalProperties: false,
    };
    await ask({ format: { type: 'json_schema', name: 'tide', schema, strict: true } });
    expect(JSON.stringify(fake.requests[0]!.body)).toContain('"hour"');
    expect(fake.refusals()).toEqual([]);
  });

  it('shows images and documents', async () => {
    const ask = await open(of, { toolRounds: 0 });
    const image = {
      type: 'file',
      mediaType: 'image/png',
      data: 'iVBORw0KGgo=',
      filename: null,
      detail: 'low',
    } as const;
    const pdf = {
      type: 'file',
      mediaType: 'application/pdf',
      data: 'JVBERi0xLjQ=',
      filename: 'a.pdf',
      detail: null,
    } as const;
    const parts = [{ type: 'text' as const, text: 'What is this?' }, image, pdf];
    await ask({ messages: [{ role: 'user', text: 'What is this?', parts }] });
    const body = JSON.stringify(fake.requests[0]!.body);
    expect(body).toContain('iVBORw0KGgo=');
    expect(body).toContain('JVBERi0xLjQ=');
    expect(fake.refusals()).toEqual([]);
  });

  it('shows images from tool results, where the vendor supports them', async () => {
    const ask = await open(of, { toolRounds: 0 });
    const file = { type: 'file', filename: null, detail: null } as const;
    const files = [
      { ...file, mediaType: 'image/png', data: 'iVBORw0KGgo=' },
      { ...file, mediaType: 'audio/wav', data: 'UklGRiQAAABXQVZF' },
    ];
    const call = { callId: 'call_0_0', name: 'camera', arguments: '{}' };
    const thought = of.kind === 'openai_compatible' ? { reasoning: [{ text: 'Look.', state: {} }] } : {};
    const parts = await ask(
      {
        messages: [
          { role: 'user', text: 'What is there?' },
          { role: 'assistant', text: '', calls: [call], ...thought },
          { role: 'tool', callId: 'call_0_0', name: 'camera', result: 'A picture: [image]', files },
        ],
      },
      { supportsReasoning: false },
    );
    expect(saidIn(parts)).toBe(text);
    expect(fake.refusals()).toEqual([]);
    const body = JSON.stringify(fake.requests[0]!.body);
    expect(body).toContain('A picture: [image]');
    expect(body.includes('iVBORw0KGgo=')).toBe(of.kind !== 'openai_compatible');
    expect(body.includes('UklGRiQAAABXQVZF')).toBe(of.kind === 'google');
  });

  it.each([
    [429, 'rate_limited', 2_000],
    [500, 'model_error', null],
  ] as const)(
    "a vendor's %i may be retried, and its text is not quoted",
    async (status, code, retryAfterMs) => {
      const ask = await open(of, {
        fail: [{ onAttempt: 1, onRound: 0, status, ...(status === 429 ? { retryAfterSeconds: 2 } : {}) }],
      });
      const failed = ask({ messages: [{ role: 'user', text: 'A secret question' }] });
      await expect(failed).rejects.toMatchObject({
        name: 'ModelFailure',
        code,
        retryable: true,
        retryAfterMs,
      });
      await failed.catch((error: Error) =>
        expect(JSON.stringify(error) + error.message).not.toContain('secret'),
      );
      expect(fake.requests.length).toBe(1);
    },
  );

  it('an interrupted stream may be retried', async () => {
    const ask = await open(of, { toolRounds: 0, fail: [{ onAttempt: 1, onRound: 0, cutAfterChars: 20 }] });
    await expect(ask({})).rejects.toMatchObject({
      name: 'ModelFailure',
      code: 'model_error',
      retryable: true,
    });
  });
});

describe('the usage of a call', () => {
  it.each([
    ['openai', 10, 5],
    // Reasoning is counted in the output, not separately.
    ['anthropic', 10, 0],
    // Reasoning is counted in addition to the output.
    ['google', 15, 5],
    ['openai_compatible', 10, 5],
  ] as const)('%s: %i tokens of output, reasoning included', async (kind, outputTokens, reasoningTokens) => {
    const ask = await open(fakeKind(kind), { toolRounds: 0 });
    expect((await ask({})).at(-1)).toMatchObject({
      type: 'finish',
      usage: { inputTokens: 100, cachedInputTokens: 40, outputTokens, reasoningTokens },
    });
  });
});

describe("the vendor's key", () => {
  it.each([
    ['openai', 'authorization', 'Bearer a-key'],
    ['anthropic', 'x-api-key', 'a-key'],
    ['google', 'x-goog-api-key', 'a-key'],
    ['openai_compatible', 'authorization', 'Bearer a-key'],
  ] as const)(
    'of %s is sent in the place that the vendor reads, and nowhere else',
    async (kind, header, value) => {
      const ask = await open(fakeKind(kind), { toolRounds: 0 });
      await ask({});
      const [{ headers, path, body }] = fake.requests as [(typeof fake.requests)[number]];
      expect(headers[header]).toBe(value);
      expect(JSON.stringify([{ ...headers, [header]: '' }, path, body])).not.toContain('a-key');
    },
  );
});

describe('reasoning', () => {
  it.each(['openai', 'anthropic', 'google'] as const)('%s summarises it when asked to', async (kind) => {
    const ask = await open(fakeKind(kind), { toolRounds: 0 });
    const parts = await ask({ reasoningEffort: 'high', reasoningSummary: 'auto' });
    const summary = parts.flatMap((part) => (part.type === 'reasoning' && part.summary ? [part.text] : []));
    expect(summary[0]).toBe('I should look that up (0)');
  });

  it('of a Chat Completions server is raw, and no summary', async () => {
    const ask = await open(fakeKind('openai_compatible'), { toolRounds: 0 });
    const reasoning = (await ask({})).filter((part) => part.type === 'reasoning');
    expect(reasoning).toMatchObject([{ text: 'I should look that up (0)', summary: false }]);
  });
});

describe('the effort of reasoning', () => {
  const efforts: [FakeKind['kind'], string, ModelRequest['reasoningEffort'], object][] = [
    ['openai', 'gpt-5-mini', 'low', { reasoning: { effort: 'low' } }],
    [
      'anthropic',
      'claude-sonnet-4-5',
      'low',
      { thinking: { type: 'enabled', budget_tokens: expect.any(Number) } },
    ],
    [
      'anthropic',
      'claude-opus-4-6',
      'high',
      { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    ],
    ['anthropic', 'claude-opus-4-6', 'none', { thinking: { type: 'disabled' } }],
    [
      'google',
      'gemini-3-pro-preview',
      'high',
      { generationConfig: { thinkingConfig: { thinkingLevel: 'high' } } },
    ],
    ['google', 'gemini-2.5-flash', 'none', { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }],
    ['openai_compatible', 'any', 'medium', { reasoning_effort: 'medium' }],
  ];
  it.each(efforts)(
    '%s receives it in its own terms: %s %s',
    async (kind, providerModel, reasoningEffort, body) => {
      const ask = await open(fakeKind(kind), { toolRounds: 0 });
      await ask({ reasoningEffort }, { providerModel });
      expect(fake.requests[0]!.body).toMatchObject(body);
      expect(fake.refusals()).toEqual([]);
    },
  );

  it('is left out beside a forced tool, which Anthropic refuses', async () => {
    const ask = await open(fakeKind('anthropic'));
    await ask({ ...thinking, toolChoice: 'required' });
    expect(fake.requests[0]!.body).not.toHaveProperty('thinking');
  });
});

describe('the limit of output', () => {
  it.each([
    [8_000, { type: 'enabled', budget_tokens: 4_000 }],
    [1_000, undefined],
  ])('%i tokens include the reasoning of Claude', async (maxOutputTokens, thoughts) => {
    const ask = await open(fakeKind('anthropic'), { toolRounds: 0 });
    await ask({ reasoningEffort: 'high', maxOutputTokens });
    const body = fake.requests[0]!.body as { max_tokens: number; thinking?: object };
    expect([body.max_tokens, body.thinking]).toEqual([maxOutputTokens, thoughts]);
  });

  it('is never below what OpenAI takes', async () => {
    const ask = await open(fakeKind('openai'), { toolRounds: 0 });
    await ask({ maxOutputTokens: 3 });
    expect(fake.requests[0]!.body).toMatchObject({ max_output_tokens: 16 });
  });
});

describe('a prompt', () => {
  it.each(['anthropic', 'google'] as const)('for %s has its system messages first', async (kind) => {
    const ask = await open(fakeKind(kind), { toolRounds: 0 });
    await ask({
      messages: [
        { role: 'user', text: 'When?' },
        { role: 'system', text: 'Be brief.' },
        { role: 'user', text: 'Now?' },
      ],
    });
    expect(fake.refusals()).toEqual([]);
    const { system, systemInstruction } = fake.requests[0]!.body as Record<string, unknown>;
    expect(JSON.stringify(system ?? systemInstruction)).toContain('Be brief.');
  });

  it.each(['anthropic', 'openai_compatible'] as const)(
    'for %s that ends with an assistant message is continued, or refused with a code of its own',
    async (kind) => {
      const messages: PromptMessage[] = [
        { role: 'user', text: 'When?' },
        { role: 'assistant', text: text.slice(0, 30), calls: [] },
      ];
      const older = await open(fakeKind(kind), { toolRounds: 0, refusesPrefill: false });
      expect(saidIn(await older({ messages }))).toBe(text.slice(30));
      await fake.stop();
      const newer = await open(fakeKind(kind), { toolRounds: 0 });
      await expect(newer({ messages })).rejects.toMatchObject({
        code: 'trailing_assistant_refused',
        retryable: true,
      });
    },
  );
});

describe('a run on the side of OpenAI', () => {
  const kept = { storesRuns: true };

  it('is named as soon as it begins, and read again from its start without another call', async () => {
    const ask = await open(fakeKind('openai'), { toolRounds: 0 });
    const first = await ask({}, kept);
    const run = first[0]!;
    expect(run).toMatchObject({ type: 'run', id: expect.stringMatching(/^resp_/) });
    expect(fake.requests[0]!.body).toMatchObject({ background: true, store: true });
    const again = await ask({ resume: run.type === 'run' ? run.id : null }, kept);
    expect(fake.requests[1]).toMatchObject({ method: 'GET', body: null });
    expect(again).toEqual(first);
  });

  it('that the vendor lost is distinguished from a failure of the model', async () => {
    const ask = await open(fakeKind('openai'), { toolRounds: 0 });
    await expect(ask({ resume: 'resp_gone' }, kept)).rejects.toMatchObject({
      code: 'run_lost',
      retryable: true,
    });
  });

  it('that failed is not read again and again', async () => {
    const ask = await open(fakeKind('openai'), {
      toolRounds: 0,
      fail: [{ onAttempt: 1, onRound: 0, endsFailed: true }],
    });
    await expect(ask({}, kept)).rejects.toMatchObject({ code: 'model_error', retryable: true });
    const [run] = arrived;
    await expect(ask({ resume: run?.type === 'run' ? run.id : null }, kept)).rejects.toMatchObject({
      code: 'run_lost',
    });
  });

  it('is requested only if the model’s row says so: nothing is stored there', async () => {
    const ask = await open(fakeKind('openai'), { toolRounds: 0 });
    const parts = await ask({});
    expect(parts.some(({ type }) => type === 'run')).toBe(false);
    expect(fake.requests[0]!.body).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] });
  });
});
