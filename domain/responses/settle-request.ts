import { z } from 'zod';
import type { Context } from '#domain/access/context.ts';
import { refusal } from '#domain/access/policy.ts';
import { Collection } from '#domain/collections/collection.entity.ts';
import { DomainError, invalid, notFound, unsupported } from '#domain/kernel/errors.ts';
import type { Model } from '#domain/models/model.entity.ts';
import type { ToolChoice } from '#domain/models/model-gateway.ts';
import type { Space } from '#domain/spaces/space.entity.ts';
import { refuseForModel } from './model-abilities.ts';
import type { CreateResponseInput, RequestedTool } from './create-input.ts';
import type { Governance, Limits, OfferedTool, ResponseRequest } from './response-request.ts';

const defaultAlpha = 0.75;
const defaultResults = 8;

/** What an administrator may lower for a space. Unset: the platform's default. */
const spacePolicy = z.object({
  version: z.int().default(1),
  max_iterations: z.int().positive().default(50),
  max_tool_calls: z.int().positive().default(256),
  max_timeout_seconds: z.int().positive().default(3_600),
  max_cost_usd: z
    .string()
    .regex(/^\d{1,6}(\.\d{1,6})?$/)
    .nullable()
    .default(null),
});

export interface Settled {
  request: ResponseRequest;
  governance: Governance;
}

/** Fills defaults, checks what depends on rights, model and space, and clamps limits. */
export async function settleRequest(
  ctx: Context,
  input: CreateResponseInput,
  place: { space: Space; model: Model },
): Promise<Settled> {
  const { space, model } = place;
  const { tools, withheld } = await settleTools(ctx, input, space);
  const { toolChoice, allowed } = settleToolChoice(input, tools);
  if (model.providerKind === 'builtin') {
    refuseForBuiltin(input, tools);
  }
  refuseForModel(input, model);
  return {
    request: {
      instructions: input.instructions,
      tools,
      tool_choice: toolChoice,
      allowed_tools: allowed,
      tool_mode: input.toolMode,
      reasoning_effort: model.supportsReasoning ? input.reasoningEffort : null,
      reasoning_summary: input.reasoningSummary,
      format: input.format,
      temperature: input.temperature,
      top_p: input.topP,
      parallel_tool_calls: input.parallelToolCalls,
      include: input.include,
      on_generation_loss: input.onGenerationLoss,
      on_unknown_tool_outcome: input.onUnknownToolOutcome,
      stream_granularity: input.streamGranularity,
      stream_events: input.streamEvents,
    },
    governance: {
      policy_version: spacePolicy.parse(space.policy).version,
      model_source: input.modelAlias === null ? 'space_default' : 'requested',
      tools_offered: tools.map((tool) => tool.name),
      tools_withheld: withheld,
      redactions: 0,
      limits: settleLimits(input, space, model),
    },
  };
}

function settleLimits(input: CreateResponseInput, space: Space, model: Model): Limits {
  const policy = spacePolicy.parse(space.policy);
  return {
    max_iterations: Math.min(
      input.toolMode === 'auto_resolve' ? (input.maxIterations ?? 10) : 1,
      policy.max_iterations,
      50,
    ),
    max_tool_calls: Math.min(input.maxToolCalls ?? 32, policy.max_tool_calls, 256),
    max_output_tokens: Math.min(input.maxOutputTokens ?? model.maxOutputTokens, model.maxOutputTokens),
    timeout_seconds: Math.min(input.timeoutSeconds ?? 900, policy.max_timeout_seconds, 3_600),
    max_cost_usd: lowest(input.maxCostUsd, policy.max_cost_usd),
  };
}

function lowest(a: string | null, b: string | null): string | null {
  if (a === null || b === null) {
    return a ?? b;
  }
  return Number(a) <= Number(b) ? a : b;
}

async function settleTools(
  ctx: Context,
  input: CreateResponseInput,
  space: Space,
): Promise<{ tools: OfferedTool[]; withheld: Governance['tools_withheld'] }> {
  await requireCollections(ctx, input.collectionIds, space);
  if (input.toolMode === 'none') {
    return { tools: [], withheld: [] };
  }
  const granted = ctx.caller.granted.has('knowledge.search');
  if (input.tools === null) {
    return granted
      ? {
          tools: [
            await offer(
              ctx,
              { type: 'knowledge_search', collectionIds: null, maxNumResults: null, alpha: null },
              input,
              space,
            ),
          ],
          withheld: [],
        }
      : { tools: [], withheld: [{ name: 'knowledge_search', missing_permission: 'knowledge.search' }] };
  }
  if (input.tools.length > 0 && !granted) {
    throw refusal(ctx.caller, ['knowledge.search'], 'knowledge.search');
  }
  if (input.tools.length > 1) {
    throw invalid('tools', 'Tool names must be unique.');
  }
  return {
    tools: await Promise.all(input.tools.map((tool) => offer(ctx, tool, input, space))),
    withheld: [],
  };
}

async function offer(
  ctx: Context,
  tool: RequestedTool,
  input: CreateResponseInput,
  space: Space,
): Promise<OfferedTool> {
  const collectionIds = tool.collectionIds ?? input.collectionIds;
  await requireCollections(ctx, tool.collectionIds, space);
  return {
    type: 'knowledge_search',
    name: 'knowledge_search',
    collection_ids: collectionIds,
    max_num_results: tool.maxNumResults ?? defaultResults,
    alpha: tool.alpha ?? defaultAlpha,
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

function settleToolChoice(
  input: CreateResponseInput,
  tools: readonly OfferedTool[],
): { toolChoice: ToolChoice; allowed: string[] | null } {
  const choice = input.toolChoice;
  if (choice === 'none') {
    return { toolChoice: 'none', allowed: null };
  }
  if (input.toolMode === 'none' && choice !== 'auto') {
    throw invalid('tool_choice', 'tool_mode none allows no other tool_choice than none.');
  }
  if (choice === 'auto') {
    return { toolChoice: 'auto', allowed: null };
  }
  const names = new Set<string>(tools.map((tool) => tool.name));
  if (choice === 'required') {
    if (names.size === 0) {
      throw invalid('tool_choice', 'No tool is offered that could be required.');
    }
    return { toolChoice: 'required', allowed: null };
  }
  const wanted = choice.type === 'allowed_tools' ? choice.names : [choice.type];
  if (wanted.some((name) => !names.has(name))) {
    throw invalid('tool_choice', 'tool_choice names a tool that is not offered.');
  }
  return choice.type === 'allowed_tools'
    ? { toolChoice: choice.mode, allowed: wanted }
    : { toolChoice: { name: choice.type }, allowed: null };
}

/** The builtin model only searches and quotes; what it cannot do is refused, not ignored. */
function refuseForBuiltin(input: CreateResponseInput, tools: readonly OfferedTool[]): void {
  if (input.format.type !== 'text') {
    throw unsupported('platform.text.format', 'The builtin model answers in plain text only.');
  }
  if (tools.length === 0 || input.toolChoice === 'none') {
    throw unsupported('tools', 'The builtin model needs knowledge_search.');
  }
}

/** @throws `model_required`, `model_not_found` or `model_not_allowed` */
export function modelError(alias: string | null, known: boolean): DomainError {
  if (alias === null) {
    return new DomainError('model_required', 'This space has no default model: name one.', {
      param: 'model',
    });
  }
  return known
    ? new DomainError('model_not_allowed', 'This model is not allowed in this space.', { param: 'model' })
    : notFound('model_not_found');
}
