import type { Redaction } from '#domain/governance/policy/pii-settings.ts';
import type { SearchSettings } from '#domain/knowledge/search/knowledge-tool.ts';
import type { PinnedSkill } from '#domain/capabilities/skills/pin-skill.ts';
import type {
  ReasoningEffort,
  ReasoningSummary,
  TextFormat,
  ToolChoice,
} from '#domain/capabilities/models/model-gateway.ts';

/** The resolved request: defaults filled, aliases resolved, limits clamped. The input is stored in items. */
export interface ResponseRequest {
  instructions: string | null;
  /** The tools offered to the model, by name. */
  tools: OfferedTool[];
  /** Set if the caller named no tools: the offered ones are then not shown as requested. */
  tools_unasked?: true;
  tool_choice: ToolChoice;
  /** Enforced on every call when set by `tool_choice: {type: allowed_tools}`. */
  allowed_tools: string[] | null;
  /** Of a choice that forces some tool of a server: the tools offered in the first turn of the model. */
  forced_tools: string[] | null;
  tool_mode: 'auto_resolve' | 'manual' | 'none';
  reasoning_effort: ReasoningEffort | null;
  /** null: reasoning is not shown. */
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
  /** Servers that the caller named by `type: mcp`: their tools are listed before the first turn. */
  listed_servers: string[];
  /** Calls of earlier responses that the caller's input approves: they run before the first turn of the model. */
  approved_calls: ApprovedCall[];
  /** The pinned version of the skill. */
  skill?: PinnedSkill;
  /** Set if the content expires ten minutes after the end. */
  store?: false;
  background?: true;
  /** Set if the space requires that personal data is replaced. */
  redaction?: Redaction;
}

export interface ApprovedCall {
  approval_request_id: string;
  call_id: string;
  /** The name that models use. */
  name: string;
  server_label: string;
  tool: string;
  /** Of the definition that the model used for the call. */
  schema_hash: string;
  arguments: string;
}

/** The iteration of the first model call. */
export function firstModelTurn(request: ResponseRequest): number {
  return request.approved_calls.length > 0 ? 1 : 0;
}

export type OfferedTool = OfferedSearch | OfferedToolSearch | OfferedMcpTool | OfferedFunction;

/** Finds tools of servers that did not fit into the request. */
export interface OfferedToolSearch {
  type: 'tool_search';
  name: 'tool_search';
  /** The servers that it searches, and the approval that the caller requires in addition to the space's settings. */
  servers: { label: string; require_approval: 'all' | string[] }[];
}

export interface OfferedSearch extends SearchSettings {
  type: 'knowledge_search';
  name: 'knowledge_search';
}

/** A tool of a connected server, as it was approved when the response was accepted. */
export interface OfferedMcpTool {
  type: 'mcp';
  /** `mcp__<slug>__<tool>` */
  name: string;
  server_label: string;
  /** The tool's own name. */
  tool: string;
  description: string;
  parameters: Record<string, unknown>;
  /** Of the definition: a tool with another definition is not called. */
  schema_hash: string;
  require_approval: boolean;
}

/** A tool that the caller runs. */
export interface OfferedFunction {
  type: 'function';
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

export interface Limits {
  max_iterations: number;
  max_tool_calls: number;
  max_output_tokens: number;
  timeout_seconds: number;
  /** Decimal dollars, null: no limit. */
  max_cost_usd: string | null;
}

/** The effect of the space's governance on the request; shown as `platform.governance_applied`. */
export interface Governance {
  policy_version: number;
  model_source: 'requested' | 'space_default';
  tools_offered: string[];
  tools_withheld: WithheldTool[];
  /** Places in which personal data was replaced. */
  redactions: number;
  /** The kinds of personal data searched for; absent if the space requires none. */
  pii?: { mode: 'redact' | 'block'; kinds: string[] };
  limits: Limits;
  skill?: Pick<PinnedSkill, 'id' | 'version_id' | 'version'>;
  /** Set if the space has its responses traced. */
  traced?: true;
}

export type WithheldTool =
  | { name: string; missing_permission: string }
  /** `count`: number of tools whose names begin with `name`. */
  | { name: string; reason: WithheldReason; count?: number };

export type WithheldReason =
  | 'not_enabled'
  | 'schema_changed'
  | 'server_unavailable'
  | 'too_many_tools'
  | 'definition_too_large'
  | 'task_required'
  | 'name_taken'
  | 'not_supported'
  | 'not_in_skill'
  /** The requester's own account at a personal server is not listed that definition. */
  | 'not_in_account';
