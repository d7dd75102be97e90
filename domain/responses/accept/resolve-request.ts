import { z } from 'zod';
import type { Context } from '#domain/foundation/access/context.ts';
import { DomainError, unsupported } from '#domain/foundation/kernel/errors.ts';
import type { Model } from '#domain/capabilities/models/model.entity.ts';
import type { ToolChoice } from '#domain/capabilities/models/model-gateway.ts';
import { pinSkill } from '#domain/capabilities/skills/pin-skill.ts';
import type { Space } from '#domain/workspace/spaces/space.entity.ts';
import { reasoningFor, rejectForModel } from './model-abilities.ts';
import type { CreateResponseInput } from '#domain/responses/record/create-input.ts';
import type { Governance, Limits, ResponseRequest } from '#domain/responses/record/response-request.ts';
import { resolveToolChoice } from '#domain/responses/offer/resolve-tool-choice.ts';
import { asksForTools, resolveTools } from '#domain/responses/offer/resolve-tools.ts';

/** Limits that an administrator may lower for a space. Unset: the platform's default. */
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

export interface ResolvedRequest {
  request: ResponseRequest;
  governance: Governance;
}

/** Fills defaults, checks everything that depends on permissions, model and space, and clamps limits. */
export async function resolveRequest(
  ctx: Context,
  input: CreateResponseInput,
  place: { space: Space; model: Model },
): Promise<ResolvedRequest> {
  const { space, model } = place;
  const skill = input.skillId == null ? null : await pinSkill(ctx, input.skillId);
  const { tools, withheld, listed } = await resolveTools(ctx, input, { ...place, skill });
  const { toolChoice, allowed, forced } = resolveToolChoice(input, tools);
  if (model.providerKind === 'builtin') {
    rejectForBuiltin(input, toolChoice);
  }
  const { reasoningEffort, reasoningSummary } = reasoningFor(input, model);
  rejectForModel(input, model);
  return {
    request: {
      instructions: input.instructions,
      tools,
      ...(asksForTools(input) ? {} : { tools_unasked: true as const }),
      tool_choice: toolChoice,
      allowed_tools: allowed,
      forced_tools: forced,
      tool_mode: input.toolMode,
      reasoning_effort: reasoningEffort,
      reasoning_summary: reasoningSummary,
      format: input.format,
      temperature: input.temperature,
      top_p: input.topP,
      parallel_tool_calls: input.parallelToolCalls,
      include: input.include,
      on_generation_loss: input.onGenerationLoss,
      on_unknown_tool_outcome: input.onUnknownToolOutcome,
      stream_granularity: input.streamGranularity,
      stream_events: input.streamEvents,
      listed_servers: listed,
      approved_calls: [],
      ...(skill === null ? {} : { skill }),
      ...(input.store === false ? { store: false } : {}),
      ...(input.background === true ? { background: true } : {}),
    },
    governance: {
      policy_version: spacePolicy.parse(space.policy).version,
      model_source: input.modelAlias === null ? 'space_default' : 'requested',
      tools_offered: tools.map((tool) => tool.name),
      tools_withheld: withheld,
      redactions: 0,
      limits: resolveLimits(input, space, model),
      ...(skill === null
        ? {}
        : { skill: { id: skill.id, version_id: skill.version_id, version: skill.version } }),
      ...(space.traced ? { traced: true as const } : {}),
    },
  };
}

function resolveLimits(input: CreateResponseInput, space: Space, model: Model): Limits {
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

/**
 * The builtin model only searches and quotes: options that it cannot follow are refused, not ignored. If it may not
 * search, its answer says so.
 */
function rejectForBuiltin(input: CreateResponseInput, choice: ToolChoice): void {
  if (input.format.type !== 'text') {
    throw unsupported('platform.text.format', 'The builtin model answers in plain text only.');
  }
  if (typeof choice === 'object' && choice.name !== 'knowledge_search') {
    throw unsupported('tool_choice', 'The builtin model calls knowledge_search only.');
  }
}

/**
 * @returns `model_required`, `model_not_found` or `model_not_allowed`, with the call that cures it: a new space allows
 *   no model
 */
export function modelError(
  alias: string | null,
  { known, spaceId }: { known: boolean; spaceId: string },
): DomainError {
  const models = `/v1/spaces/${spaceId}/models`;
  if (alias === null) {
    return new DomainError(
      'model_required',
      known
        ? `The default model of this space is disabled. PUT ${models} chooses another one; this needs the permission spaces.manage_models.`
        : `This space has no default model. PUT ${models} chooses the models that it allows, of those of GET /v1/admin/models, and its default; this needs the permission spaces.manage_models.`,
      { param: 'model' },
    );
  }
  return known
    ? new DomainError(
        'model_not_allowed',
        `This space does not allow this model, or it is disabled. GET ${models} lists what it allows; PUT at the same path changes it and needs the permission spaces.manage_models.`,
        { param: 'model' },
      )
    : new DomainError('model_not_found', 'No such model.', { param: 'model' });
}
