import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWireFake, type WireFake } from '../support/wire-fakes/fake-server.ts';
import { fakeKinds, type FakeKind } from '../support/wire-fakes/index.ts';

type Kind = FakeKind['kind'];

const fakes = new Map<Kind, WireFake>();
beforeAll(async () => {
  for (const of of fakeKinds) {
    const script = { text: 'It is noon.', toolRounds: 1, reasoning: 'Hm', refusesPrefill: true };
    fakes.set(of.kind, await startWireFake(of.vendor(), script));
  }
});
afterAll(() => Promise.all([...fakes.values()].map((fake) => fake.stop())));

const paths: Record<Kind, string> = {
  openai: '/v1/responses',
  anthropic: '/v1/messages',
  google: '/v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse',
  openai_compatible: '/v1/chat/completions',
};

async function ask(kind: Kind, body: object): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${fakes.get(kind)!.origin}${paths[kind]}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
}

const user = { role: 'user', content: 'When?' };
const blocks = (...content: object[]) => content;
const asked = { role: 'user', content: blocks({ type: 'text', text: 'When?' }) };
const use = { type: 'tool_use', id: 'toolu_1', name: 'knowledge_search', input: {} };
const result = (id: string) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content: 'No.' }],
});
const call = { type: 'function_call', call_id: 'call_1', name: 'knowledge_search', arguments: '{}' };
const output = { type: 'function_call_output', call_id: 'call_1', output: 'No.' };

const openai = (input: object[], more: object = {}) => ({
  model: 'gpt-5',
  stream: true,
  store: false,
  input,
  ...more,
});
const claude = (messages: object[], more: object = {}) => ({
  model: 'claude-opus-4-6',
  max_tokens: 4_096,
  stream: true,
  messages,
  ...more,
});
const gemini = (contents: object[], more: object = {}) => ({ contents, ...more });
const question = { role: 'user', parts: [{ text: 'When?' }] };
const called = { role: 'model', parts: [{ functionCall: { name: 'knowledge_search', args: {} } }] };
const response = {
  role: 'user',
  parts: [{ functionResponse: { name: 'knowledge_search', response: { content: 'No.' } } }],
};
const chat = (messages: object[], more: object = {}) => ({ model: 'm', stream: true, messages, ...more });
const chatCall = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'knowledge_search', arguments: '{}' } }],
};
const thinking = { thinking: { type: 'adaptive' } };

const refusals: [kind: Kind, name: string, body: object, words: RegExp][] = [
  ['openai', 'an unknown field', openai([user], { colour: 1 }), /Unknown parameter: 'colour'/],
  ['openai', 'an orphan tool result', openai([user, output]), /No tool call found for function call output/],
  [
    'openai',
    'a call without its result',
    openai([user, call, user]),
    /No tool output found for function call call_1/,
  ],
  [
    'openai',
    'reasoning that is not encrypted',
    openai([user, { type: 'reasoning', id: 'rs_1', summary: [] }, call, output]),
    /not persisted when `store` is set to false/,
  ],
  [
    'openai',
    'reasoning of its own making',
    openai([user, { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' }, call, output]),
    /could not be verified/,
  ],
  ['anthropic', 'an unknown field', claude([asked], { colour: 1 }), /colour: Extra inputs are not permitted/],
  [
    'anthropic',
    'an orphan tool result',
    claude([asked, result('toolu_1')]),
    /unexpected `tool_use_id` found/,
  ],
  [
    'anthropic',
    'a call without its result',
    claude([asked, { role: 'assistant', content: [use] }, asked]),
    /without `tool_result` blocks immediately after: toolu_1/,
  ],
  [
    'anthropic',
    'a trailing assistant message',
    claude([asked, { role: 'assistant', content: [{ type: 'text', text: 'It' }] }]),
    /does not support assistant message prefill/,
  ],
  [
    'anthropic',
    'a tool loop without its thoughts',
    claude([asked, { role: 'assistant', content: [use] }, result('toolu_1')], thinking),
    /Expected `thinking` or `redacted_thinking`, but found `tool_use`/,
  ],
  [
    'anthropic',
    'a thought with another signature',
    claude(
      [
        asked,
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm', signature: 'x' }, use] },
        result('toolu_1'),
      ],
      thinking,
    ),
    /Invalid `signature` in `thinking` block/,
  ],
  ['google', 'an unknown field', gemini([question], { colour: 1 }), /Unknown name \\"colour\\"/],
  [
    'google',
    'a call without its signature',
    gemini([question, called, response]),
    /missing a thought_signature/,
  ],
  [
    'google',
    'an orphan function response',
    gemini([question, { ...response }]),
    /number of function response parts/,
  ],
  [
    'google',
    'a call behind the words of the model',
    gemini([question, { role: 'model', parts: [{ text: 'So' }] }, called, response]),
    /comes immediately after a user turn/,
  ],
  [
    'openai_compatible',
    'an unknown field',
    chat([user], { colour: 1 }),
    /Unrecognized request argument supplied: colour/,
  ],
  [
    'openai_compatible',
    'an orphan tool result',
    chat([user, { role: 'tool', tool_call_id: 'call_1', content: 'No.' }]),
    /must be a response to a preceding message/,
  ],
  [
    'openai_compatible',
    'a tool loop without its thoughts',
    chat([user, chatCall, { role: 'tool', tool_call_id: 'call_1', content: 'No.' }]),
    /Missing `reasoning_content`/,
  ],
  [
    'openai_compatible',
    'a trailing assistant message',
    chat([user, { role: 'assistant', content: 'It' }]),
    /does not support a trailing assistant message/,
  ],
];

describe('a wire fake', () => {
  it.each(refusals)(
    '%s refuses %s with its vendor’s error, and records it',
    async (kind, _name, body, words) => {
      const refused = await ask(kind, body);
      expect(refused.status).toBeGreaterThanOrEqual(400);
      expect(refused.status).toBeLessThan(500);
      expect(refused.text).toMatch(words);
      const noted = fakes.get(kind)!.requests.at(-1)!;
      expect(noted).toMatchObject({ status: refused.status, outcome: 'failed', body });
      expect(noted.refusal).not.toBeNull();
    },
  );

  it.each([
    ['openai', openai([user])],
    ['anthropic', claude([asked])],
    ['google', gemini([question])],
    ['openai_compatible', chat([user])],
  ] as const)('%s answers valid requests', async (kind, body) => {
    const answer = await ask(kind, body);
    expect(answer.status).toBe(200);
    expect(fakes.get(kind)!.requests.at(-1)).toMatchObject({ streamed: 'It is noon.', outcome: 'complete' });
  });

  it('openai refuses its own reasoning when nothing follows it', async () => {
    const { text } = await ask('openai', openai([user]));
    const item = [...text.matchAll(/^data: (.*)$/gm)]
      .map(([, line]) => JSON.parse(line!) as { type: string; item?: { type: string } })
      .find(
        ({ type, item: done }) => type === 'response.output_item.done' && done?.type === 'reasoning',
      )!.item!;
    const refused = await ask('openai', openai([user, item, user]));
    expect(refused.text).toMatch(/of type 'reasoning' was provided without its required following item/);
    const bare = await ask('openai', openai([user, call, output]));
    expect(bare.text).toMatch(/was provided without its required 'reasoning' item/);
  });
});
