import type { OpenAiResponse } from '#api/contract/openai/response.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import type { ResponseRequest } from '#domain/responses/record/response-request.ts';
import { presentTextFormat, presentToolChoice, presentTools } from './settings.ts';

/** A response's request settings: they never change, so a stream renders them once. */
export type Settings = ReturnType<typeof presentSettings>;

export function presentSettings(request: ResponseRequest & { reasoning_summary?: string | null }) {
  return {
    background: request.background ?? false,
    instructions: request.instructions,
    parallel_tool_calls: request.parallel_tool_calls,
    presence_penalty: 0 as const,
    frequency_penalty: 0 as const,
    prompt_cache_key: null,
    reasoning: { effort: request.reasoning_effort, summary: request.reasoning_summary ?? null },
    safety_identifier: null,
    service_tier: 'default' as const,
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: { format: presentTextFormat(request.format), verbosity: 'medium' as const },
    tool_choice: presentToolChoice(request),
    tools: request.tools_unasked === true ? [] : presentTools(request.tools),
    top_logprobs: 0 as const,
    top_p: request.top_p ?? 1,
    truncation: 'disabled' as const,
    user: null,
    access_programs: null,
  };
}

/** The contract's record in the form of OpenAI's clients. The order of members is fixed: replays are byte-equal. */
export function presentOpenAiResponse(record: ResponseRecord, settings: Settings): OpenAiResponse {
  const { usage, platform, status } = record;
  const { limits } = platform.governance_applied;
  const finishedAt = record.finished_at === null ? null : unixSeconds(record.finished_at);
  return {
    id: record.id,
    object: 'response',
    created_at: unixSeconds(record.created_at),
    completed_at: status === 'completed' ? finishedAt : null,
    status,
    error: platform.failure_reason,
    incomplete_details: incompleteDetails(record),
    max_output_tokens: limits.max_output_tokens,
    max_tool_calls: limits.max_tool_calls,
    metadata: platform.metadata ?? {},
    model: record.model,
    output: record.output,
    previous_response_id: record.previous_response_id,
    usage: {
      input_tokens: usage.input_tokens,
      input_tokens_details: { cached_tokens: usage.cached_input_tokens ?? 0, cache_write_tokens: 0 },
      output_tokens: usage.output_tokens,
      output_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
      total_tokens: usage.input_tokens + usage.output_tokens,
      cost_usd: usage.cost_usd,
    },
    ...settings,
    finished_at: finishedAt,
    expires_at: unixSeconds(record.expires_at),
    space_id: record.space_id,
    model_alias: record.model_alias,
    platform,
  };
}

function incompleteDetails({ status, platform }: ResponseRecord): OpenAiResponse['incomplete_details'] {
  if (status === 'cancelled') {
    return { reason: 'cancelled' };
  }
  return platform.incomplete_reason === null ? null : { reason: platform.incomplete_reason };
}

export function unixSeconds(iso: string): number {
  return Math.floor(Date.parse(iso) / 1_000);
}
