import { describe, expect, it } from 'vitest';
import { anthropic } from '#adapters/models/anthropic.ts';
import { google } from '#adapters/models/google.ts';
import { openAiCompatible } from '#adapters/models/openai-compatible.ts';
import { openAi } from '#adapters/models/openai.ts';
import type { ModelGateway, ProviderKind } from '#domain/capabilities/models/model-gateway.ts';
import { modelRequest } from '../support/model-request.ts';

const long = 'a'.repeat(500_000);

/** An endless answer of a server, with a number that makes each item different. */
type Says = (n: number) => object[];

interface Wire {
  open: typeof openAi;
  /** A call of a tool of that name. */
  call: (n: number, name: string) => object[];
  /** An item with long provider state. */
  state?: Says;
  /** A reasoning item without text. */
  thought?: Says;
}

const wires: Partial<Record<ProviderKind, Wire>> = {
  openai_compatible: {
    open: openAiCompatible,
    call: (index, name) => {
      const call = { index, id: `call_${index}`, type: 'function', function: { name, arguments: '{}' } };
      return [{ choices: [{ index: 0, delta: { tool_calls: [call] } }] }];
    },
  },
  openai: {
    open: openAi,
    call: (n, name) => {
      const item = { type: 'function_call', id: `fc_${n}`, call_id: `call_${n}`, name, arguments: '{}' };
      return [
        { type: 'response.output_item.added', output_index: n, item: { ...item, arguments: '' } },
        { type: 'response.output_item.done', output_index: n, item: { ...item, status: 'completed' } },
      ];
    },
    state: (n) => thoughtOf(n, long),
    thought: (n) => thoughtOf(n, null),
  },
  anthropic: {
    open: anthropic,
    call: (index, name) => [
      {
        type: 'content_block_start',
        index,
        content_block: { type: 'tool_use', id: `toolu_${index}`, name, input: {} },
      },
      { type: 'content_block_stop', index },
    ],
    state: (index) => [
      { type: 'content_block_start', index, content_block: { type: 'thinking', thinking: '' } },
      { type: 'content_block_delta', index, delta: { type: 'signature_delta', signature: long } },
      { type: 'content_block_stop', index },
    ],
    thought: (index) => [
      { type: 'content_block_start', index, content_block: { type: 'thinking', thinking: '' } },
      { type: 'content_block_stop', index },
    ],
  },
  google: {
    open: google,
    call: (_n, name) => [
      { candidates: [{ content: { role: 'model', parts: [{ functionCall: { name, args: {} } }] } }] },
    ],
    state: () => {
      const parts = [{ functionCall: { name: 'search', args: {} }, thoughtSignature: long }];
      return [{ candidates: [{ content: { role: 'model', parts } }] }];
    },
  },
};

function thoughtOf(n: number, encrypted: string | null): object[] {
  const item = { type: 'reasoning', id: `rs_${n}`, encrypted_content: encrypted, summary: [] };
  return [
    { type: 'response.output_item.added', output_index: n, item },
    { type: 'response.output_item.done', output_index: n, item },
  ];
}

/** Far beyond the limit; a broken implementation would read to the end. */
const maxSaid = 60_000_000;

function endless(says: Says): Response {
  let n = 0;
  let said = 0;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const events = Array.from({ length: 20 }, () => says((n += 1))).flat();
      const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
      said += text.length;
      controller.enqueue(Buffer.from(text));
      if (said > maxSaid || n > 20_000) controller.close();
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

async function read(kind: ProviderKind, open: Wire['open'], says: Says): Promise<number> {
  const models: ModelGateway = open({
    fetch: () => Promise.resolve(endless(says)),
    credential: () => undefined,
  });
  const request = modelRequest({
    providerKind: kind,
    providerModel: 'endless',
    baseUrl: 'http://127.0.0.1:9/v1',
    supportsReasoning: true,
  });
  const parts = models.stream(request, new AbortController().signal)[Symbol.asyncIterator]();
  let count = 0;
  while ((await parts.next()).done !== true) count += 1;
  return count;
}

const ended = { code: 'model_error', retryable: false };

describe.each(Object.entries(wires))('an answer over %s', (name, { open, call, state, thought }) => {
  const kind = name as ProviderKind;

  it('whose items never end is ended', async () => {
    await expect(read(kind, open, (n) => call(n, 'search'))).rejects.toMatchObject(ended);
    if (thought !== undefined) await expect(read(kind, open, thought)).rejects.toMatchObject(ended);
  });

  it('whose names of tools are too long together is ended', async () => {
    await expect(read(kind, open, (n) => call(n, long))).rejects.toMatchObject(ended);
  });

  it.skipIf(state === undefined)('with too much provider state is ended', async () => {
    await expect(read(kind, open, state!)).rejects.toMatchObject(ended);
  });
});
