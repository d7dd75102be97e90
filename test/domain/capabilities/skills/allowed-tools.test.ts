import { describe, expect, it } from 'vitest';
import { allowsTool, checkAllowedTools, namesServer } from '#domain/capabilities/skills/allowed-tools.ts';

describe('the allowed tools of a skill', () => {
  it('are tools of servers, whole servers and platform tools, each once', () => {
    const entries = ['mcp__crm__find', 'mcp__crm-2__*', 'knowledge_search', 'mcp__crm__find'];
    expect(checkAllowedTools(entries)).toEqual(['mcp__crm__find', 'mcp__crm-2__*', 'knowledge_search']);
    expect(checkAllowedTools([])).toEqual([]);
  });

  it.each([
    '*',
    'mcp__*',
    'mcp__*__find',
    'mcp__crm__',
    'mcp__crm',
    'mcp__crm__fi*',
    'mcp__crm__.*',
    'mcp__crm__(find|drop)',
    'mcp__CRM__find',
    'mcp__-crm__find',
    '^mcp__crm__find$',
    'mcp__crm__find|mcp__hr__find',
    'mcp__crm__a__*',
    ' mcp__crm__find',
    'web_search',
    '__proto__',
    '',
  ])('are never %j', (entry) => {
    expect(() => checkAllowedTools(['mcp__crm__find', entry])).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        detail: expect.objectContaining({ param: 'allowed_tools.1' }),
      }),
    );
  });

  it('allow what they name and nothing that only looks like it', () => {
    const entries = ['mcp__crm__find', 'mcp__hr__*'];
    const allowed = (tool: string) => allowsTool(entries, tool);
    expect(['mcp__crm__find', 'mcp__hr__find', 'mcp__hr__x'].map(allowed)).toEqual([true, true, true]);
    expect(
      ['mcp__crm__finder', 'mcp__crm__drop', 'mcp__hr-2__find', 'mcp__crm-hr__find', 'find'].map(allowed),
    ).toEqual([false, false, false, false, false]);
    expect(['crm', 'hr', 'hr-2', 'cr', 'mcp'].map((slug) => namesServer(entries, slug))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(allowsTool([], 'mcp__crm__find')).toBe(false);
  });
});
