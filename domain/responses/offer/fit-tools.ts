import { invalid } from '#domain/foundation/kernel/errors.ts';
import { isTooLarge } from '#domain/capabilities/tools/definition-size.ts';
import type { CreateResponseInput } from '#domain/responses/record/create-input.ts';
import type {
  OfferedMcpTool,
  OfferedTool,
  OfferedToolSearch,
  WithheldTool,
} from '#domain/responses/record/response-request.ts';
import { matchesChoice } from './resolve-tool-choice.ts';
import { shareRoom, type FittedTool, type Room, type SizedTool } from './share-room.ts';
import { maxTools, toolSearchName } from './tool-search.ts';

/** Room for definitions without and with tool search; the latter leaves room for found tools. */
const wholeRoom: Room = { tools: maxTools, bytes: 262_144, tokens: 40_000 };
const searchedRoom: Room = { tools: 96, bytes: 131_072, tokens: 24_000 };

export type Candidate = Exclude<OfferedTool, OfferedMcpTool> | SizedTool;
export type Fitted = Exclude<OfferedTool, OfferedMcpTool> | FittedTool;

export interface Wanted {
  tools: readonly Candidate[];
  /** Tools of servers that the caller named one by one. */
  named: ReadonlySet<string>;
  /** Of servers named by `type: mcp`: tools for which the caller requires additional approval. */
  consent: ReadonlyMap<string, 'all' | readonly string[]>;
}

/**
 * Selects the tools that fit. Tools that the caller named come first; the others share the remaining room, server by
 * server. If some are left out, the model may search for them.
 * @throws `invalid_request` for more named tools than can be offered
 */
export function fitTools(
  input: CreateResponseInput,
  { tools, named, consent }: Wanted,
): { tools: Fitted[]; withheld: WithheldTool[] } {
  const withheld: WithheldTool[] = [];
  const isFixed = (tool: Candidate) => tool.type !== 'mcp' || named.has(tool.name);
  if (tools.filter(isFixed).length > maxTools) {
    throw invalid('tools', `At most ${maxTools} tools can be offered.`);
  }
  const fitting: SizedTool[] = [];
  for (const tool of tools) {
    if (tool.type === 'mcp') {
      if (isTooLarge(tool.size)) {
        withheld.push({ name: tool.name, reason: 'definition_too_large' });
      } else {
        fitting.push(tool);
      }
    }
  }
  const own = tools.filter((tool) => tool.type !== 'mcp');
  const isFirst = (tool: SizedTool) => named.has(tool.name) || isChosen(input, tool);
  const first = shareRoom(fitting.filter(isFirst), { ...wholeRoom, tools: maxTools - own.length });
  const fit = (room: Room) => {
    // The reduced room applies to the other tools only: named tools always have the whole room.
    const others = shareRoom(
      fitting.filter((tool) => !isFirst(tool)),
      {
        tools: first.rest.tools - (wholeRoom.tools - room.tools),
        bytes: first.rest.bytes - (wholeRoom.bytes - room.bytes),
        tokens: first.rest.tokens - (wholeRoom.tokens - room.tokens),
      },
    );
    return { kept: new Set([...first.kept, ...others.kept]), left: [...first.left, ...others.left] };
  };
  let { kept, left } = fit(wholeRoom);
  let search: OfferedToolSearch | null = null;
  // Tool search needs room for itself and for at least one found tool.
  if (left.length > 0 && first.rest.tools >= 2 && maySearch(input, own)) {
    ({ kept, left } = fit(searchedRoom));
    search = { type: 'tool_search', name: toolSearchName, servers: serversOf(left, consent) };
  }
  withheld.push(...left.map(({ name }): WithheldTool => ({ name, reason: 'too_many_tools' })));
  const offered = tools.flatMap((tool): Fitted[] => {
    if (tool.type !== 'mcp') {
      return [tool];
    }
    const { size: _size, ...offer } = tool;
    return kept.has(tool) ? [offer] : [];
  });
  return { tools: search === null ? offered : [...offered, search], withheld };
}

/** Whether a found tool could be called: the platform resolves calls, and the tool choice does not restrict names. */
function maySearch({ toolMode, toolChoice }: CreateResponseInput, own: readonly Candidate[]): boolean {
  const isFree =
    toolChoice !== 'none' && !(typeof toolChoice === 'object' && toolChoice.type === 'allowed_tools');
  return toolMode === 'auto_resolve' && isFree && own.every(({ name }) => name !== toolSearchName);
}

function isChosen({ toolChoice }: CreateResponseInput, tool: SizedTool): boolean {
  if (typeof toolChoice === 'string') {
    return false;
  }
  const named = toolChoice.type === 'allowed_tools' ? toolChoice.tools : [toolChoice];
  return named.some((each) => matchesChoice(each, tool));
}

function serversOf(left: readonly SizedTool[], consent: Wanted['consent']): OfferedToolSearch['servers'] {
  return [...new Set(left.map((tool) => tool.server_label))].map((label) => {
    const asked = consent.get(label) ?? [];
    return { label, require_approval: asked === 'all' ? asked : [...asked] };
  });
}
