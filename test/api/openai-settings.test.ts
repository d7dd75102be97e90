import { describe, expect, it } from 'vitest';
import { presentTextFormat, presentToolChoice, presentTools } from '#api/present/openai/settings.ts';

describe('what a response shows OpenAI’s clients of its request', () => {
  it('lists its tools in their format, those of a server together', () => {
    const server = { type: 'mcp', server_label: 'crm', description: 'A tool.', parameters: {} };
    const tools = [
      { type: 'knowledge_search', name: 'knowledge_search', collection_ids: ['c1'], max_num_results: 8 },
      { ...server, name: 'mcp__crm__find', tool: 'find', schema_hash: 'h', require_approval: false },
      { type: 'function', name: 'roll', description: 'Dice.', parameters: { type: 'object' } },
      { ...server, name: 'mcp__crm__close', tool: 'close', require_approval: true },
    ];
    expect(presentTools(tools)).toEqual([
      { type: 'file_search', vector_store_ids: ['c1'], max_num_results: 8 },
      {
        type: 'function',
        name: 'roll',
        description: 'Dice.',
        parameters: { type: 'object' },
        strict: null,
      },
      {
        type: 'mcp',
        server_label: 'crm',
        allowed_tools: ['find', 'close'],
        require_approval: { always: { tool_names: ['close'] } },
      },
    ]);
  });

  it.each([
    [{ tool_choice: 'auto', allowed_tools: null }, 'auto'],
    [{ tool_choice: { name: 'knowledge_search' }, allowed_tools: null }, { type: 'file_search' }],
    [
      { tool_choice: { name: 'roll' }, allowed_tools: null },
      { type: 'function', name: 'roll' },
    ],
    [
      { tool_choice: { name: 'mcp__crm__find' }, allowed_tools: null },
      { type: 'mcp', server_label: 'crm', name: 'find' },
    ],
    [
      { tool_choice: 'required', allowed_tools: ['knowledge_search', 'roll'] },
      {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'file_search' }, { type: 'function', name: 'roll' }],
      },
    ],
  ] as const)('shows the tool choice: %j', (request, shown) => {
    const { tool_choice, allowed_tools: allowed } = request;
    expect(presentToolChoice({ tool_choice, allowed_tools: allowed === null ? null : [...allowed] })).toEqual(
      shown,
    );
  });

  it('gives a schema every member that Open Responses requires', () => {
    const schema = { type: 'object' };
    expect(presentTextFormat({ type: 'json_schema', name: 'tide', schema })).toEqual({
      type: 'json_schema',
      name: 'tide',
      description: null,
      schema,
      strict: false,
    });
  });
});
