import type { Redaction } from '#domain/governance/policy/pii-settings.ts';
import type { SearchSettings } from '#domain/knowledge/search/knowledge-tool.ts';
import type { PinnedSkill } from '#domain/capabilities/skills/pin-skill.ts';
import type {
  ReasoningEffort,
  ReasoningSummary,
  TextFormat,
  ToolChoice,
} from '#domain/capabilities/models/model-gateway.ts';

/** What was asked, settled: defaults filled, aliases resolved, limits clamped. The input lives in items. */
export interface ResponseRequest {
  instructions: string | null;
  /** The tools offered to the model, by name. */
  tools: OfferedTool[];
  /** Set where the caller named none: they are not shown as what was asked for. */
  tools_unasked?: true;
  tool_choice: ToolChoice;
  /** Enforced on every call when set by `tool_choice: {type: allowed_tools}`. */
  allowed_tools: string[] | null;
  /** Of a choice that forces some tool of a server: what the first turn of the model is offered. */
  forced_tools: string[] | null;
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
  /** Servers that the caller named by `type: mcp`: their tools are listed before the first turn. */
  listed_servers: string[];
  /** Calls of earlier responses that the caller's input approves: they run before the first turn of the model. */
  approved_calls: ApprovedCall[];
  /** The version of a skill that it was accepted with. */
  skill?: PinnedSkill;
  /** Set when the content is to go ten minutes after the end. */
  store?: false;
  background?: true;
  /** Set when the space demanded that personal data is replaced. */
  redaction?: Redaction;
}

export interface ApprovedCall {
  approval_request_id: string;
  call_id: string;
  /** As models know it. */
  name: string;
  server_label: string;
  tool: string;
  /** Of the definition that the call was asked for with. */
  schema_hash: string;
  arguments: string;
}

/** The iteration in which the model is asked first. */
export function firstModelTurn(request: ResponseRequest): number {
  return request.approved_calls.length > 0 ? 1 : 0;
}

export type OfferedTool = OfferedSearch | OfferedToolSearch | OfferedMcpTool | OfferedFunction;

/** Finds tools of servers that there was no room for. */
export interface OfferedToolSearch {
  type: 'tool_search';
  name: 'tool_search';
  /** Where it looks, and how much more consent than the space's the caller asked for there. */
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
  /** Of the definition: no other is called in its place. */
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

/** What the space's governance made of the request; shown as `platform.governance_applied`. */
export interface Governance {
  policy_version: number;
  model_source: 'requested' | 'space_default';
  tools_offered: string[];
  tools_withheld: WithheldTool[];
  /** Places in which personal data was replaced. */
  redactions: number;
  /** What was looked for; left out where the space demands nothing. */
  pii?: { mode: 'redact' | 'block'; kinds: string[] };
  limits: Limits;
  skill?: Pick<PinnedSkill, 'id' | 'version_id' | 'version'>;
  /** Set where the space has its responses traced. */
  traced?: true;
}

export type WithheldTool =
  | { name: string; missing_permission: string }
  /** `count`: so many tools, whose names begin so. */
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
  | 'not_in_skill';
