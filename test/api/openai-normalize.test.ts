import { describe, expect, it } from 'vitest';
import { normalizeBody } from '#api/rest/v1/openai/normalize.ts';

describe('a body of OpenAI’s clients', () => {
  it('may say null for what it leaves out of a tool, an item or a part', () => {
    const body = {
      instructions: null,
      tools: [{ type: 'file_search', vector_store_ids: ['a'], filters: null, ranking_options: null }],
      input: [
        { role: 'user', status: null, content: [{ type: 'input_image', image_url: 'data:x', detail: null }] },
      ],
    };
    expect(normalizeBody(body)).toEqual({
      instructions: null,
      tools: [{ type: 'file_search', vector_store_ids: ['a'] }],
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:x' }] }],
    });
  });

  it('keeps the nulls that mean something', () => {
    const tool = { type: 'function', name: 'f', parameters: { properties: { a: { enum: ['x', null] } } } };
    const schema = { type: 'object', properties: { a: { default: null } } };
    const body = { tools: [tool], text: { format: { type: 'json_schema', name: 'n', schema } } };
    expect(normalizeBody(body)).toEqual(body);
  });

  it('may send an earlier answer back whole: what the server did stands for itself', () => {
    const search = {
      id: 'fs_1',
      type: 'file_search_call',
      status: 'completed',
      queries: ['a'],
      results: null,
    };
    const message = {
      id: 'msg_1',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      phase: 'final_answer',
      content: [{ type: 'output_text', text: 'Yes.', annotations: [], logprobs: [] }],
    };
    const { phase: _, ...rest } = message;
    expect(normalizeBody({ input: [search, message] })).toEqual({
      input: [{ type: 'item_reference', id: 'fs_1' }, rest],
    });
  });

  it('may describe its whole answer, which is then a description of the schema', () => {
    const format = { type: 'json_schema', name: 'tide', strict: null, description: 'Of one day.' };
    const { text } = normalizeBody({ text: { format: { ...format, schema: { type: 'object' } } } }) as {
      text: object;
    };
    expect(text).toEqual({
      format: { type: 'json_schema', name: 'tide', schema: { description: 'Of one day.', type: 'object' } },
    });
  });

  it('may ask for encrypted reasoning, which has no effect, and for no other unknown value', () => {
    const include = [
      'reasoning.encrypted_content',
      'file_search_call.results',
      'message.output_text.logprobs',
    ];
    expect(normalizeBody({ include })).toEqual({ include: include.slice(1) });
  });

  it('may ask for JSON by a schema that it leaves out', () => {
    expect(normalizeBody({ text: { format: { type: 'json_schema' } } })).toEqual({
      text: { format: { type: 'json_object' } },
    });
  });

  it.each([null, 'x', 7, [], { input: 7, tools: 'x', text: 'y' }, { input: [null, 7, [{}]], tools: [null] }])(
    'stays as it is where it is something else: %j',
    (body) => {
      expect(normalizeBody(body)).toEqual(body);
    },
  );
});
