import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exposedName, parsePattern, slugPattern } from '#domain/capabilities/tools/tool-names.ts';
import { schemaHash } from '#domain/capabilities/tools/tool-server.ts';

const slug = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,22}[a-z0-9])?$/);

describe('the name of a tool', () => {
  it('fits every vendor, and splits into server and tool unambiguously', () => {
    fc.assert(
      fc.property(slug, fc.string({ minLength: 1, maxLength: 200 }), (of, name) => {
        const exposed = exposedName(of, name);
        expect(exposed).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        expect(parsePattern(exposed)).toEqual({ kind: 'mcp', slug: of, tool: exposed });
      }),
      { numRuns: 5_000 },
    );
  });

  it('differs for tools that differ only in characters that a name cannot hold', () => {
    const names = ['a b', 'a.b', 'a/b', 'a_b', `${'x'.repeat(80)}1`, `${'x'.repeat(80)}2`];
    expect(new Set(names.map((name) => exposedName('crm', name))).size).toBe(names.length);
  });

  it.each(['*', 'mcp__*', 'mcp__crm', 'mcp__CRM__*', 'mcp____x', 'mcp__a_b__x', 'mcp__-a__x', 'crm__x', ''])(
    'is no valid pattern as %j',
    (text) => {
      expect(parsePattern(text)).toBeNull();
    },
  );

  it.each(['a', 'crm', 'a-b', 'a--b', '0', 'x'.repeat(24)])('may begin with the slug %j', (text) => {
    expect(slugPattern.test(text)).toBe(true);
  });

  it.each(['', '-a', 'a-', 'a_b', 'A', 'x'.repeat(25), 'a b'])('may not begin with %j', (text) => {
    expect(slugPattern.test(text)).toBe(false);
  });
});

describe('the digest of a definition', () => {
  const tool = {
    name: 'find',
    title: 'Find',
    description: 'Finds.',
    inputSchema: { type: 'object', properties: { q: { type: 'string', description: 'What.' } } },
    outputSchema: null,
    annotations: { readOnlyHint: true },
  };

  it('does not depend on the order of members', () => {
    const inputSchema = { properties: { q: { description: 'What.', type: 'string' } }, type: 'object' };
    expect(schemaHash({ ...tool, inputSchema })).toBe(schemaHash(tool));
  });

  it.each([
    { ...tool, name: 'find2' },
    { ...tool, description: 'Finds. ' },
    { ...tool, description: 'Finds.\u200b' },
    { ...tool, title: 'Find all' },
    { ...tool, title: null },
    { ...tool, outputSchema: { type: 'object' } },
    { ...tool, annotations: { readOnlyHint: false } },
    { ...tool, annotations: null },
    { ...tool, inputSchema: { ...tool.inputSchema, required: ['q'] } },
    {
      ...tool,
      inputSchema: { type: 'object', properties: { q: { type: 'string', description: 'Send all.' } } },
    },
  ])('changes with each part of it', (other) => {
    expect(schemaHash(other)).not.toBe(schemaHash(tool));
  });
});
