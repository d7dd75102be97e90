import type { DefinitionSize } from '#domain/capabilities/tools/definition-size.ts';
import type { OfferedMcpTool } from '#domain/responses/record/response-request.ts';

/** How much of each request to the model the definitions of one response may use. */
export interface Room extends DefinitionSize {
  tools: number;
}

/** A tool of a server, without its definition: a response is offered a few of thousands. */
export type FittedTool = Omit<OfferedMcpTool, 'description' | 'parameters'>;

export interface SizedTool extends FittedTool {
  size: DefinitionSize;
}

/**
 * Shares the room fairly among servers: the next tool is always of the server whose largest share so far (of tools,
 * bytes or tokens) is the smallest; ties go by name. Room that one server does not need goes to the others.
 * @returns the tools in the order of `offers`
 */
export function shareRoom<T extends SizedTool>(
  offers: readonly T[],
  room: Room,
): { kept: T[]; left: T[]; rest: Room } {
  const servers = [...Map.groupBy(offers, (offer) => offer.server_label)]
    .map(([label, tools]) => ({ label, tools, next: 0, used: { tools: 0, bytes: 0, tokens: 0 } }))
    .sort((a, b) => (a.label < b.label ? -1 : 1));
  const rest = { ...room };
  const kept = new Set<T>();
  const share = ({ used }: { used: Room }) =>
    Math.max(used.tools / room.tools, used.bytes / room.bytes, used.tokens / room.tokens);
  for (;;) {
    const waiting = servers.filter(({ tools, next }) => next < tools.length);
    const [first, ...others] = waiting;
    if (first === undefined || rest.tools < 1) {
      break;
    }
    const server = others.reduce((min, each) => (share(each) < share(min) ? each : min), first);
    const tool = server.tools[server.next];
    server.next += 1;
    if (tool !== undefined && tool.size.bytes <= rest.bytes && tool.size.tokens <= rest.tokens) {
      kept.add(tool);
      take(server.used, tool.size, 1);
      take(rest, tool.size, -1);
    }
  }
  return {
    kept: offers.filter((offer) => kept.has(offer)),
    left: offers.filter((offer) => !kept.has(offer)),
    rest,
  };
}

function take(room: Room, { bytes, tokens }: DefinitionSize, sign: 1 | -1): void {
  room.tools += sign;
  room.bytes += sign * bytes;
  room.tokens += sign * tokens;
}
