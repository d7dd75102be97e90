import type { WithheldTool } from '#domain/responses/record/response-request.ts';

/** Max tools of one server that are named one by one; more are counted. */
const maxNamed = 16;
const maxEntries = 128;

/**
 * The withheld tools in a bounded form: many tools of one server with the same reason become one entry with their
 * number.
 */
export function boundWithheld(withheld: readonly WithheldTool[]): WithheldTool[] {
  const groups = Map.groupBy(withheld, (tool) =>
    'reason' in tool ? `${tool.reason} ${serverOf(tool.name)}` : tool.name,
  );
  const bounded = [...groups.values()].flatMap((tools): WithheldTool[] => {
    const [first] = tools;
    return first === undefined || tools.length <= maxNamed || !('reason' in first)
      ? tools
      : [{ name: `${serverOf(first.name)}*`, reason: first.reason, count: tools.length }];
  });
  return bounded.length <= maxEntries
    ? bounded
    : [
        ...bounded.slice(0, maxEntries - 1),
        { name: '*', reason: 'too_many_tools', count: bounded.length - maxEntries + 1 },
      ];
}

/** `mcp__<slug>__`; empty for a tool of no server. */
function serverOf(name: string): string {
  return /^mcp__[a-z0-9-]+__/.exec(name)?.[0] ?? '';
}
