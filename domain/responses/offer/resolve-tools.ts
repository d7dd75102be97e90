import type { Context } from '#domain/foundation/access/context.ts';
import { refusal } from '#domain/foundation/access/policy.ts';
import { Collection } from '#domain/knowledge/collections/collection.entity.ts';
import { invalid, notFound } from '#domain/foundation/kernel/errors.ts';
import type { Model } from '#domain/capabilities/models/model.entity.ts';
import type { PinnedSkill } from '#domain/capabilities/skills/pin-skill.ts';
import { openAiToolsOf } from '#domain/workspace/spaces/openai-tools.ts';
import type { Space } from '#domain/workspace/spaces/space.entity.ts';
import type { CreateResponseInput, RequestedTool } from '#domain/responses/record/create-input.ts';
import { defineTools } from './define-tools.ts';
import { fitTools, type Candidate, type Fitted, type Wanted } from './fit-tools.ts';
import type {
  OfferedFunction,
  OfferedSearch,
  OfferedTool,
  WithheldTool,
} from '#domain/responses/record/response-request.ts';
import { notGranted, readCatalogue, type ServerCatalogue } from './server-catalogue.ts';
import { offersUnder, underSkill } from './skill-tools.ts';
import { boundWithheld } from './withheld-tools.ts';

const defaultAlpha = 0.75;
const defaultResults = 8;

export interface ResolvedTools {
  tools: OfferedTool[];
  withheld: WithheldTool[];
  /** Servers that the caller named by `type: mcp`. */
  listed: string[];
}

interface Place {
  space: Space;
  model: Model;
  skill: PinnedSkill | null;
}

/**
 * The tools offered to the model, which are all granted ones or the requested ones; and those withheld, with the
 * reason.
 */
export async function resolveTools(
  ctx: Context,
  input: CreateResponseInput,
  place: Place,
): Promise<ResolvedTools> {
  await requireCollections(ctx, input.collectionIds, place.space);
  if (input.toolMode === 'none' || offersNothing(input, place)) {
    return { tools: [], withheld: [], listed: [] };
  }
  const wanted = await (input.tools === null
    ? everything(ctx, input, place)
    : requested(ctx, input, { ...place, tools: input.tools }));
  const fitted = fitTools(input, wanted);
  const withheld = [...wanted.withheld, ...fitted.withheld];
  for (const name of new Set(input.unsupportedTools)) {
    withheld.push({ name, reason: 'not_supported' });
  }
  const tools = await defined(ctx, place.space, fitted.tools);
  return { tools, withheld: boundWithheld(withheld), listed: wanted.listed };
}

async function defined(ctx: Context, space: Space, fitted: readonly Fitted[]): Promise<OfferedTool[]> {
  const ofServers = fitted.filter((tool) => tool.type === 'mcp');
  const known = new Map((await defineTools(ctx.em, space.id, ofServers)).map((tool) => [tool.name, tool]));
  return fitted.flatMap((tool): OfferedTool[] => {
    const offer = tool.type === 'mcp' ? known.get(tool.name) : tool;
    return offer === undefined ? [] : [offer];
  });
}

/** The tools before the room is shared. */
interface WantedTools extends Wanted {
  tools: Candidate[];
  named: Set<string>;
  consent: Map<string, 'all' | readonly string[]>;
  withheld: WithheldTool[];
  listed: string[];
}

/** Whether the caller requested tools: by name, or by a choice among all available ones. */
export function asksForTools({ tools, toolChoice }: CreateResponseInput): boolean {
  return tools !== null || typeof toolChoice === 'object';
}

/** The builtin model needs its search, so choosing that model counts as a request for it. */
function offersNothing(input: CreateResponseInput, { space, model }: Place): boolean {
  return (
    input.plain === true &&
    !asksForTools(input) &&
    model.providerKind !== 'builtin' &&
    openAiToolsOf(space) === 'asked'
  );
}

async function everything(
  ctx: Context,
  input: CreateResponseInput,
  { space, model, skill }: Place,
): Promise<WantedTools> {
  const tools: Candidate[] = [];
  const withheld: WithheldTool[] = [];
  if (ctx.caller.granted.has('knowledge.search')) {
    tools.push(await search(ctx, anySearch, input, space));
  } else {
    withheld.push({ name: 'knowledge_search', missing_permission: 'knowledge.search' });
  }
  // The builtin model searches and quotes; it calls nothing else.
  const servers =
    model.providerKind === 'builtin'
      ? []
      : await readCatalogue(ctx.em, { spaceId: space.id, principalId: ctx.caller.principalId });
  for (const server of servers) {
    if (!ctx.caller.granted.has('tools.execute')) {
      withheld.push({ name: `mcp__${server.slug}__*`, missing_permission: 'tools.execute' });
      continue;
    }
    const offers = offersUnder(skill, server, null);
    tools.push(...offers.tools);
    withheld.push(...offers.withheld.filter((tool) => !('reason' in tool && tool.reason === 'not_enabled')));
  }
  return { tools, withheld, listed: [], named: new Set(), consent: new Map() };
}

async function requested(
  ctx: Context,
  input: CreateResponseInput,
  asked: Omit<Place, 'model'> & { tools: readonly RequestedTool[] },
): Promise<WantedTools> {
  const { space, skill } = asked;
  const resolved: WantedTools = {
    tools: [],
    withheld: [],
    listed: [],
    named: new Set(),
    consent: new Map(),
  };
  let catalogue: ServerCatalogue[] | null = null;
  for (const tool of asked.tools) {
    switch (tool.type) {
      case 'knowledge_search':
        if (!ctx.caller.granted.has('knowledge.search')) {
          throw refusal(ctx.caller, ['knowledge.search'], 'knowledge.search');
        }
        add(resolved.tools, await search(ctx, tool, input, space));
        break;
      case 'function':
        add(resolved.tools, clientFunction(tool));
        break;
      default:
        if (!ctx.caller.granted.has('tools.execute')) {
          throw refusal(ctx.caller, ['tools.execute'], 'tools.execute');
        }
        catalogue ??= underSkill(
          skill,
          await readCatalogue(ctx.em, { spaceId: space.id, principalId: ctx.caller.principalId }),
        );
        addServer(resolved, catalogue, tool);
    }
  }
  return resolved;
}

type ServerTool = Extract<RequestedTool, { type: 'pattern' | 'mcp' }>;

function addServer(resolved: WantedTools, catalogue: readonly ServerCatalogue[], tool: ServerTool): void {
  const slug = tool.type === 'mcp' ? tool.serverLabel : tool.slug;
  const names = tool.type === 'mcp' ? tool.allowedTools : tool.tool === null ? null : [tool.tool];
  const server = findServer(catalogue, slug);
  const offers = server.offers(names);
  if (tool.type === 'mcp') {
    const before = resolved.consent.get(slug) ?? [];
    const more = tool.requireApproval;
    resolved.consent.set(slug, before === 'all' || more === 'all' ? 'all' : [...before, ...more]);
  }
  for (const offer of offers.tools) {
    const requireApproval: 'all' | string[] = tool.type === 'mcp' ? tool.requireApproval : [];
    const asks =
      requireApproval === 'all' || [offer.name, offer.tool].some((name) => requireApproval.includes(name));
    if (names !== null) {
      resolved.named.add(offer.name);
    }
    const known = resolved.tools.find(({ name }) => name === offer.name);
    if (known?.type === 'mcp') {
      known.require_approval ||= asks;
    } else {
      add(resolved.tools, { ...offer, require_approval: offer.require_approval || asks });
    }
  }
  const alreadyListed = new Set(resolved.withheld.map(({ name }) => name));
  resolved.withheld.push(...offers.withheld.filter(({ name }) => !alreadyListed.has(name)));
  if (tool.type === 'mcp' && !resolved.listed.includes(slug)) {
    resolved.listed.push(slug);
  }
}

function findServer(catalogue: readonly ServerCatalogue[], slug: string): ServerCatalogue {
  const server = catalogue.find((each) => each.slug === slug);
  if (server === undefined) {
    throw notGranted();
  }
  return server;
}

function add(tools: Candidate[], offer: Candidate): void {
  if (tools.some(({ name }) => name === offer.name)) {
    throw invalid('tools', 'Tool names must be unique.');
  }
  tools.push(offer);
}

function clientFunction(tool: Extract<RequestedTool, { type: 'function' }>): OfferedFunction {
  if (tool.name.startsWith('mcp__') || tool.name === 'knowledge_search') {
    throw invalid('tools', 'The names of server tools are reserved.');
  }
  return tool;
}

type Search = Extract<RequestedTool, { type: 'knowledge_search' }>;

const anySearch: Search = { type: 'knowledge_search', collectionIds: null, maxNumResults: null, alpha: null };

async function search(
  ctx: Context,
  tool: Search,
  input: CreateResponseInput,
  space: Space,
): Promise<OfferedSearch> {
  await requireCollections(ctx, tool.collectionIds, space);
  return {
    type: 'knowledge_search',
    name: 'knowledge_search',
    collection_ids: tool.collectionIds ?? input.collectionIds,
    max_num_results: tool.maxNumResults ?? defaultResults,
    alpha: tool.alpha ?? defaultAlpha,
    ...(tool.rerank === undefined ? {} : { rerank: tool.rerank }),
  };
}

async function requireCollections(ctx: Context, ids: string[] | null, space: Space): Promise<void> {
  if (
    ids !== null &&
    (await ctx.em.count(Collection, { id: ids, spaceId: space.id })) !== new Set(ids).size
  ) {
    throw notFound('collection_not_found');
  }
}
