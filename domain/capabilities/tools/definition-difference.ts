import { createTwoFilesPatch, FILE_HEADERS_ONLY } from 'diff';
import { canonicalJson } from '#domain/foundation/kernel/canonical-json.ts';
import type { McpTool } from './mcp-tool.entity.ts';
import { definitionOf, type ToolDefinition } from './tool-definition.ts';

/** Max differing lines before the whole is shown as replaced: the cost of the diff grows with their square. */
const maxEdits = 200;
/** Shared by all differences of one response; each gets a few. */
const maxEditsTogether = 4_000;
const minEdits = 16;
const maxDifferenceLength = 16_384;

/**
 * The approved definition against the server's current one, as a unified diff of canonical JSON. `together` is the
 * number of diffs in one response.
 */
export function definitionDifference(tool: McpTool, together = 1): string {
  const before = tool.approvedDefinition == null ? '' : toLines(tool.approvedDefinition);
  const after = toLines(definitionOf(tool));
  if (before === after) {
    return 'The definitions differ in hidden characters only.\n';
  }
  const compared = createTwoFilesPatch('approved', 'discovered', before, after, undefined, undefined, {
    context: 3,
    headerOptions: FILE_HEADERS_ONLY,
    maxEditLength: Math.max(minEdits, Math.min(maxEdits, Math.floor(maxEditsTogether / together))),
  });
  const difference = compared ?? replaced(before, after);
  return difference.length <= maxDifferenceLength
    ? difference
    : `${difference.slice(0, maxDifferenceLength)}\n… ${difference.length} characters in all\n`;
}

function toLines({ hiddenCharacters, ...definition }: ToolDefinition): string {
  const { title, description, inputSchema, outputSchema, annotations } = definition;
  const shown = {
    title,
    description,
    input_schema: inputSchema,
    output_schema: outputSchema,
    annotations,
    ...(hiddenCharacters.length === 0 ? {} : { hidden_characters: hiddenCharacters }),
  };
  return `${JSON.stringify(JSON.parse(canonicalJson(shown)), null, 2)}\n`;
}

function replaced(before: string, after: string): string {
  const marked = (sign: string, text: string) => text.replaceAll(/^(?=.)/gm, sign);
  return `--- approved\n+++ discovered\n${marked('-', before)}${marked('+', after)}`;
}
