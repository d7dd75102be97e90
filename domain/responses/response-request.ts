import type {
  ReasoningEffort,
  ReasoningSummary,
  TextFormat,
  ToolChoice,
} from '#domain/models/model-gateway.ts';

/** What was asked, settled: defaults filled, aliases resolved, limits clamped. The input lives in items. */
export interface ResponseRequest {
  instructions: string | null;
  /** The tools offered to the model, by name; only `knowledge_search` exists so far. */
  tools: OfferedTool[];
  tool_choice: ToolChoice;
  /** Enforced on every call when set by `tool_choice: {type: allowed_tools}`. */
  allowed_tools: string[] | null;
  tool_mode: 'auto_resolve' | 'manual' | 'none';
  reasoning_effort: ReasoningEffort | null;
  /** null: reasoning stays unsaid. */
  reasoning_summary: ReasoningSummary | null;
  format: TextFormat;
  temperature: number | null;
  top_p: number | null;
  parallel_tool_calls: boolean;
  include: string[];
  on_generation_loss: 'continue' | 'restart' | 'fail';
  on_unknown_tool_outcome: 'report' | 'fail';
  stream_granularity: 'token' | 'item';
  stream_events: boolean;
}

export interface OfferedTool {
  type: 'knowledge_search';
  name: 'knowledge_search';
  /** null: every collection of the space. */
  collection_ids: string[] | null;
  max_num_results: number;
  alpha: number;
}

export interface Limits {
  max_iterations: number;
  max_tool_calls: number;
  max_output_tokens: number;
  timeout_seconds: number;
  /** Decimal dollars, null: no limit. */
  max_cost_usd: string | null;
}

/** What the space's governance made of the request; shown as `platform.governance_applied`. */
export interface Governance {
  policy_version: number;
  model_source: 'requested' | 'space_default';
  tools_offered: string[];
  tools_withheld: { name: string; missing_permission: string }[];
  redactions: number;
  limits: Limits;
}
