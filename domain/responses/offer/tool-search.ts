import type { EntityManager } from '@mikro-orm/postgresql';
import type { ToolDefinition } from '#domain/capabilities/models/model-gateway.ts';
import { allowsTool } from '#domain/capabilities/skills/allowed-tools.ts';
import { definitionSize, isTooLarge } from '#domain/capabilities/tools/definition-size.ts';
import { rankTools } from '#domain/capabilities/tools/rank-tools.ts';
import { defineTools } from './define-tools.ts';
import type { StoredItem } from '#domain/responses/prompt/model-prompt.ts';
import type { FoundTools, RequestedCall } from '#domain/responses/store/requested-call.ts';
import type {
  OfferedTool,
  OfferedToolSearch,
  ResponseRequest,
} from '#domain/responses/record/response-request.ts';
import { readCatalogue } from './server-catalogue.ts';
import type { FittedTool } from './share-room.ts';
import { underSkill } from './skill-tools.ts';
import type { ClaimedTurn } from '#domain/responses/prompt/turn-claim.ts';

export const toolSearchName = 'tool_search';

/** The limit of vendors per request. */
export const maxTools = 128;

const maxFound = 8;
const maxSummaryLength = 300;
/** The tools found last stay offered, as far as they fit beside those offered from the start. */
const foundRoom = { tools: 31, bytes: 98_304, tokens: 16_000 };

/** The definition offered to models. */
export function toolSearchTool({ servers }: OfferedToolSearch): ToolDefinition {
  const labels = servers.map(({ label }) => label);
  const named = labels.length <= 32 ? labels.join(', ') : `${labels.slice(0, 32).join(', ')} and others`;
  return {
    name: toolSearchName,
    description:
      `There are more tools than those listed here, of: ${named}. This searches their names and descriptions. ` +
      'The tools that it finds can be called from the next turn on.',
    parameters: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Keywords of what the tool should do.' },
      },
      required: ['query'],
      additionalProperties: false,
    },
  };
}

/** Answers the tool searches among a turn's calls, before the turn is committed with their results. */
export async function answerToolSearches(
  em: EntityManager,
  turn: ClaimedTurn,
  calls: readonly RequestedCall[],
): Promise<RequestedCall[]> {
  const search = turn.settings.tools.find((tool) => tool.type === 'tool_search');
  const answered: RequestedCall[] = [];
  for (const call of calls) {
    const asks = search !== undefined && call.name === search.name;
    answered.push(asks ? { ...call, found: await find(em, { search, turn, query: queryOf(call) }) } : call);
  }
  return answered;
}

function queryOf({ arguments: text }: RequestedCall): string {
  try {
    const { query } = JSON.parse(text) as { query?: unknown };
    return typeof query === 'string' ? query.slice(0, 1_000) : '';
  } catch {
    return '';
  }
}

async function find(
  em: EntityManager,
  asked: { search: OfferedToolSearch; turn: ClaimedTurn; query: string },
): Promise<FoundTools> {
  const { search, turn, query } = asked;
  const { spaceId, principalId } = turn.held.response;
  const { skill, tools } = turn.settings;
  const known = new Set(tools.map(({ name }) => name));
  const ranked = await rankTools(em, { spaceId, slugs: search.servers.map(({ label }) => label), query });
  const wanted = ranked
    .filter((name) => !known.has(name) && (skill === undefined || allowsTool(skill.allowed_tools, name)))
    .slice(0, maxFound);
  const places = new Map(wanted.map((name, index) => [name, index]));
  const fitting = underSkill(skill ?? null, await readCatalogue(em, { spaceId, principalId }))
    .flatMap((server) => server.offers(null).tools)
    .filter((offer) => places.has(offer.name) && !isTooLarge(offer.size))
    .sort((a, b) => (places.get(a.name) ?? 0) - (places.get(b.name) ?? 0))
    .map(({ size: _size, ...offer }): FittedTool => {
      const { require_approval: more = [] } =
        search.servers.find((s) => s.label === offer.server_label) ?? {};
      const asks = more === 'all' || more.includes(offer.name) || more.includes(offer.tool);
      return { ...offer, require_approval: offer.require_approval || asks };
    });
  const offers = await defineTools(em, spaceId, fitting);
  const found = offers.map(({ name, description }) => ({
    name,
    description: description.slice(0, maxSummaryLength),
  }));
  return { result: JSON.stringify({ tools: found }), offers };
}

/**
 * The request's tools plus those that the response has found so far. Found tools are read from its own items, so a
 * retried attempt is offered the same tools. If there are too many, those found last.
 */
export function withFound(request: ResponseRequest, own: readonly StoredItem[]): ResponseRequest {
  if (!request.tools.some((tool) => tool.type === 'tool_search')) {
    return request;
  }
  const offered = new Set(request.tools.map(({ name }) => name));
  const left = { ...foundRoom, tools: Math.min(foundRoom.tools, maxTools - request.tools.length) };
  const found: OfferedTool[] = [];
  for (const offer of own.toReversed().flatMap(({ exchange }) => exchange?.offers ?? [])) {
    const { bytes, tokens } = definitionSize(offer);
    if (!offered.has(offer.name) && left.tools > 0 && bytes <= left.bytes && tokens <= left.tokens) {
      offered.add(offer.name);
      found.unshift(offer);
      left.tools -= 1;
      left.bytes -= bytes;
      left.tokens -= tokens;
    }
  }
  return { ...request, tools: [...request.tools, ...found] };
}
