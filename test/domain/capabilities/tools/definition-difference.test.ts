import { expect, it } from 'vitest';
import { definitionDifference } from '#domain/capabilities/tools/definition-difference.ts';
import type { McpTool } from '#domain/capabilities/tools/mcp-tool.entity.ts';
import { shortest } from '../../../support/growth.ts';

/** A tool with `lines` members, all of which have changed. */
function changedTool(lines: number): McpTool {
  const definition = (value: string) => ({
    title: null,
    description: 'Finds.',
    inputSchema: Object.fromEntries(Array.from({ length: lines }, (_, n) => [`member${n}`, `${value}${n}`])),
    outputSchema: null,
    annotations: null,
    hiddenCharacters: [],
  });
  return { ...definition('b'), approvedDefinition: definition('a') } as unknown as McpTool;
}

it('few changes are shown line by line, however many tools have changed', () => {
  const difference = definitionDifference(changedTool(3), 512);
  expect(difference).toContain('-    "member0": "a0"');
  expect(difference).toContain(' "description": "Finds."');
});

it('five hundred completely changed tools are compared within a moment', () => {
  const tools = Array.from({ length: 512 }, () => changedTool(90));
  const compared = (among: number) =>
    shortest(() => tools.forEach((tool) => definitionDifference(tool, among)), 2);
  expect(compared(tools.length)).toBeLessThan(compared(1) / 2);
});
