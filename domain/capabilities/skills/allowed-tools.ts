import { invalid } from '#domain/foundation/kernel/errors.ts';
import { parsePattern } from '#domain/capabilities/tools/tool-names.ts';

/** Tools that every response may use, whatever its skill; naming one changes nothing. */
const platformTools = new Set(['knowledge_search']);

/**
 * Each entry names one tool of a connected server (`mcp__<slug>__<tool>`), all of one (`mcp__<slug>__*`) or a tool of
 * the platform. @returns the distinct entries @throws `invalid_request` naming the first invalid entry
 */
export function checkAllowedTools(entries: readonly string[]): string[] {
  const wrong = entries.findIndex(
    (entry) => !platformTools.has(entry) && parsePattern(entry)?.kind !== 'mcp',
  );
  if (wrong >= 0) {
    throw invalid(
      `allowed_tools.${wrong}`,
      'allowed_tools holds mcp__<slug>__<tool>, mcp__<slug>__* and names of platform tools only.',
    );
  }
  return [...new Set(entries)];
}

/** Whether a skill with these entries may be offered the tool of a connected server. @param tool its exposed name */
export function allowsTool(entries: readonly string[], tool: string): boolean {
  return entries.some((entry) =>
    entry.endsWith('__*') ? tool.startsWith(entry.slice(0, -1)) : entry === tool,
  );
}

/** Whether the entries name the server, or any tool of it. */
export function namesServer(entries: readonly string[], slug: string): boolean {
  return entries.some((entry) => entry.startsWith(`mcp__${slug}__`));
}
