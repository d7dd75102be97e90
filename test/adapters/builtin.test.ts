import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { builtinModel } from '#adapters/models/builtin.ts';
import { knowledgeTool } from '#domain/knowledge/search/knowledge-definition.ts';
import type { ModelPart, ModelRequest, PromptMessage } from '#domain/capabilities/models/model-gateway.ts';

const request = (messages: PromptMessage[], overrides: Partial<ModelRequest> = {}): ModelRequest => ({
  tenantId: 'tenant',
  model: {
    alias: 'builtin',
    providerKind: 'builtin',
    providerModel: 'builtin',
    baseUrl: null,
    credentialRef: null,
    maxOutputTokens: 4_096,
    supportsReasoning: false,
    storesRuns: false,
    inputModalities: ['text'],
  },
  messages,
  tools: [knowledgeTool],
  toolChoice: 'auto',
  parallelToolCalls: true,
  maxOutputTokens: 4_096,
  temperature: null,
  topP: null,
  reasoningEffort: null,
  reasoningSummary: null,
  resume: null,
  format: { type: 'text' },
  ...overrides,
});

const parts = async (asked: ModelRequest): Promise<ModelPart[]> => {
  const stream: ModelPart[] = [];
  for await (const part of builtinModel.stream(asked, new AbortController().signal)) {
    stream.push(part);
  }
  return stream;
};

const textOf = (stream: ModelPart[]) =>
  stream.map((part) => (part.type === 'text' ? part.text : '')).join('');

const asking = (question: string, passages: { text: string; heading?: string }[]): PromptMessage[] => [
  { role: 'user', text: question },
  { role: 'assistant', text: '', calls: [{ callId: 'c', name: 'knowledge_search', arguments: '{}' }] },
  {
    role: 'tool',
    callId: 'c',
    name: 'knowledge_search',
    result: JSON.stringify({
      results: passages.map(({ text, heading }, n) => ({
        label: `[${n + 1}]`,
        heading: heading ?? null,
        text,
      })),
      mode: 'keyword',
    }),
  },
];

const answer = async (question: string, passages: { text: string; heading?: string }[]) =>
  textOf(await parts(request(asking(question, passages))));

/** The result with a score for its last passage. */
function scored(result: string, score: number, mode: string): string {
  const { results } = JSON.parse(result) as { results: object[] };
  return JSON.stringify({
    results: results.map((one, n) => ({ ...one, score: n === 1 ? score : 0.1 })),
    mode,
  });
}

describe('the first turn', () => {
  it('searches the knowledge for the last user text and writes no text', async () => {
    const stream = await parts(
      request([
        { role: 'user', text: 'Earlier?' },
        { role: 'assistant', text: 'Yes.', calls: [] },
        { role: 'user', text: 'Where is Halden?' },
      ]),
    );
    expect(stream).toMatchObject([
      { type: 'tool_call', name: 'knowledge_search', arguments: '{"query":"Where is Halden?"}' },
      { type: 'finish', reason: 'tool_calls' },
    ]);
  });

  it('searches again for a new question although an earlier one has its results', async () => {
    const stream = await parts(request([...asking('One?', []), { role: 'user', text: 'Two?' }]));
    expect(stream[0]).toMatchObject({ type: 'tool_call', arguments: '{"query":"Two?"}' });
  });

  it('says that it answers from documents only when no search is offered', async () => {
    const stream = await parts(request([{ role: 'user', text: 'Hi?' }], { tools: [] }));
    expect(textOf(stream)).toContain('can only answer from the documents');
  });
});

describe('the second turn', () => {
  it('answers a question asked in other words with the sentence of the document and its mark', async () => {
    const text = 'Oslo has two harbours. The Halden beacon is painted ultramarine. Fish is sold on Fridays.';
    expect(await answer('Which colour does the beacon of Halden have?', [{ text }])).toBe(
      'From the documents of this space:\n\nThe Halden beacon is painted ultramarine. [1]',
    );
  });

  it('marks each sentence with the passage that it stands in, best first', async () => {
    const said = await answer('When was the Halden lighthouse built?', [
      { text: 'The harbour of Halden is deep.' },
      { text: 'The lighthouse of Halden was built in 1871.' },
    ]);
    expect(said.split('\n\n').slice(1)).toEqual([
      'The lighthouse of Halden was built in 1871. [2]',
      'The harbour of Halden is deep. [1]',
    ]);
  });

  it.each([
    ['no passage came back', []],
    ['no sentence shares a word with the question', [{ text: 'Fish is sold on Fridays.' }]],
  ])('says without a mark that it found nothing when %s', async (_, passages) => {
    const said = await answer('Who is the mayor of Bergen?', passages);
    expect(said).toBe('I found nothing about this in the documents of this space.');
  });

  it('quotes the passage that is near by meaning when no sentence shares a word with the question', async () => {
    const question = 'Can unhappy shoppers be reimbursed?';
    const near = 'Refunds are issued within 14 days of purchase.';
    const found = (score: number, mode: string) =>
      asking(question, [{ text: 'Fish is sold on Fridays.' }, { text: near }]).map((message) =>
        message.role === 'tool' ? { ...message, result: scored(message.result, score, mode) } : message,
      );
    const say = async (score: number, mode: string) => textOf(await parts(request(found(score, mode))));
    expect(await say(0.4, 'hybrid')).toBe(`From the documents of this space:\n\n${near} [2]`);
    const nothing = 'I found nothing about this in the documents of this space.';
    expect(await say(0.28, 'hybrid')).toBe(nothing);
    expect(await say(0.4, 'keyword')).toBe(nothing);
  });

  it('says that the search failed when the tool answered with an error', async () => {
    const messages = asking('Where?', []).map((message) =>
      message.role === 'tool' ? { ...message, result: '{"error":"no"}' } : message,
    );
    expect(textOf(await parts(request(messages)))).toContain('could not be searched');
  });

  it('leaves out headings, tables, code and fragments, and takes the signs of markup away', async () => {
    const text = [
      '## The beacon of Halden',
      '| beacon | Halden |\n| --- | --- |\n| beacon Halden | blue |',
      '```\nThe beacon of Halden is code.\n```',
      'of the beacon of Halden and so on.',
      'The beacon of Halden and',
      '',
      '- The **beacon** of [Halden](http://x.example/) shows `blue_light` at\n  night.',
      '- Dr. Berg lit the beacon of Halden first.',
    ].join('\n\n');
    const said = await answer('What about the beacon of Halden?', [{ text }]);
    expect(said.split('\n\n').slice(1)).toEqual([
      'The beacon of Halden shows blue_light at night. [1]',
      'Dr. Berg lit the beacon of Halden first. [1]',
    ]);
  });

  it('keeps the signs that stand in code', async () => {
    const text =
      'Light the beacon with `halden <lamp_id>?on=*all*!now` at dusk. The `a.b` beacon is `` ` `` red.';
    const said = await answer('How is the beacon lit?', [{ text }]);
    expect(said.split('\n\n').slice(1)).toEqual([
      'Light the beacon with halden <lamp_id>?on=*all*!now at dusk. [1]',
      'The a.b beacon is ` red. [1]',
    ]);
  });

  it('takes at most five sentences', async () => {
    const text = Array.from({ length: 12 }, (_, n) => `The beacon of Halden has the light number ${n}.`).join(
      ' ',
    );
    const said = await answer('Which lights has the beacon of Halden?', [{ text }]);
    expect(said.match(/\[1\]/g)).toHaveLength(5);
  });

  it('ends with the reason length when the allowance of tokens is used up', async () => {
    const messages = asking('Halden beacon?', [{ text: 'The Halden beacon is painted ultramarine.' }]);
    const stream = await parts(request(messages, { maxOutputTokens: 4 }));
    expect(stream.at(-1)).toMatchObject({ type: 'finish', reason: 'length' });
  });

  it('stops when it is aborted', async () => {
    const stop = new AbortController();
    const messages = asking('Halden beacon?', [{ text: 'The Halden beacon is painted ultramarine.' }]);
    const read = async () => {
      for await (const part of builtinModel.stream(request(messages), stop.signal)) {
        expect(part.type).toBe('text');
        stop.abort(new Error('stopped'));
      }
    };
    await expect(read()).rejects.toThrow('stopped');
  });
});

describe('whatever the passages hold', () => {
  const subject = fc.constantFrom('The beacon', 'Halden', 'A ship', 'Oslo', 'Nobody', '🚀 The crew');
  const verb = fc.constantFrom('is painted', 'carries', 'shows', 'sees', 'has');
  const thing = fc.constantFrom('ultramarine', 'a red light', 'two masts', 'the harbour of Halden', 'fish');
  const sentence = fc.tuple(subject, verb, thing).map((words) => `${words.join(' ')}.`);
  const noise = fc.string({ unit: 'grapheme', maxLength: 80 });
  const passage = fc.record({
    heading: fc.constantFrom('Guide', 'Halden › Beacon'),
    text: fc.array(fc.oneof(sentence, noise), { maxLength: 8 }).map((lines) => lines.join('\n')),
  });
  const question = fc.oneof(
    sentence,
    noise.filter((text) => text.trim() !== ''),
  );

  it('the same request gives the same parts', async () => {
    await fc.assert(
      fc.asyncProperty(question, fc.array(passage, { maxLength: 5 }), async (asked, passages) => {
        const messages = asking(asked, passages);
        expect(await parts(request(messages))).toEqual(await parts(request(structuredClone(messages))));
      }),
      { numRuns: 60 },
    );
  });

  it('every cited sentence stands in the passage that its mark names, and every part is whole text', async () => {
    await fc.assert(
      fc.asyncProperty(
        question,
        fc.array(fc.array(sentence, { minLength: 1, maxLength: 6 }), { maxLength: 5 }),
        async (asked, texts) => {
          const stream = await parts(
            request(
              asking(
                asked,
                texts.map((lines) => ({ text: lines.join(' ') })),
              ),
            ),
          );
          expect(stream.filter((part) => part.type === 'finish')).toHaveLength(1);
          for (const part of stream) {
            expect(part.type !== 'text' || part.text.isWellFormed()).toBe(true);
          }
          for (const line of textOf(stream).split('\n\n').slice(1)) {
            const [, cited = '', label = ''] = /^(.*) \[(\d+)\]$/s.exec(line) ?? [];
            expect(texts[Number(label) - 1]).toContain(cited);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});
