import type {
  ReasoningEffort,
  ReasoningSummary,
  TextFormat,
} from '#domain/capabilities/models/model-gateway.ts';
import type { InputContent, SummaryText } from './output-items.ts';
import type { IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';

/** A request as the wire schema has parsed it: shapes are valid, references and limits are not checked yet. */
export interface CreateResponseInput {
  spaceId: string;
  input: InputItem[];
  /** null: the space's default. */
  modelAlias: string | null;
  /** null: everything that the space grants; for a `plain` request as the space's settings say. */
  tools: RequestedTool[] | null;
  /** A request whose client expects no tools that it did not name. */
  plain?: boolean;
  /** Named tools that the platform does not implement, by their type. */
  unsupportedTools?: readonly string[];
  toolChoice: RequestedToolChoice;
  toolMode: 'auto_resolve' | 'manual' | 'none';
  maxOutputTokens: number | null;
  reasoningEffort: ReasoningEffort | null;
  reasoningSummary: ReasoningSummary | null;
  previousResponseId: string | null;
  metadata: Record<string, string> | null;
  instructions: string | null;
  format: TextFormat;
  temperature: number | null;
  topP: number | null;
  parallelToolCalls: boolean;
  include: string[];
  maxIterations: number | null;
  maxToolCalls: number | null;
  maxCostUsd: string | null;
  timeoutSeconds: number | null;
  onBusy: 'reject' | 'enqueue' | 'cancel_previous';
  onGenerationLoss: 'continue' | 'restart' | 'fail';
  onUnknownToolOutcome: 'report' | 'fail';
  streamGranularity: 'token' | 'item';
  streamEvents: boolean;
  /** Collections that knowledge_search may search; null: all of the space. */
  collectionIds: string[] | null;
  /** The thread that stores question and answer as messages; its first branch unless one is named. */
  thread?: { threadId: string; branchId: string | null } | null | undefined;
  /** The skill whose published version the response uses. */
  skillId?: string | null;
  /** false: the content expires ten minutes after the end. */
  store?: boolean;
  /** Whether the caller does not wait for the end; shown to clients that ask. */
  background?: boolean;
  /** Digest of the body without its delivery options. */
  fingerprint: string;
  idempotency: IdempotentRequest | null;
}

export type InputItem =
  | {
      type: 'message';
      role: 'user' | 'assistant' | 'system' | 'developer';
      text: string;
      /** Set if it holds more than text; `text` is then its text parts. */
      content?: InputContent[];
    }
  /** Our own reasoning by its id, else the summary alone. */
  | { type: 'reasoning'; id: string | null; summary: SummaryText[] }
  | { type: 'item_reference'; id: string }
  | ToolInputItem;

export type ToolInputItem =
  | { type: 'function_call'; callId: string; name: string; arguments: string }
  | { type: 'function_call_output'; callId: string; output: string }
  | { type: 'mcp_approval_response'; approvalRequestId: string; approve: boolean; reason: string | null };

export type RequestedTool =
  | {
      type: 'knowledge_search';
      collectionIds: string[] | null;
      maxNumResults: number | null;
      alpha: number | null;
      /** Omitted: as the space has chosen. */
      rerank?: boolean;
    }
  /** `tool` is an exposed name; null: all that are enabled. */
  | { type: 'pattern'; slug: string; tool: string | null }
  | {
      type: 'mcp';
      serverLabel: string;
      /** The tools' own or exposed names; null: all that are enabled. */
      allowedTools: string[] | null;
      /** Tools whose calls need approval in addition to those of the space's settings; `all` or by name. */
      requireApproval: 'all' | string[];
    }
  | { type: 'function'; name: string; description: string; parameters: Record<string, unknown> };

export type RequestedToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | NamedTool
  | { type: 'allowed_tools'; mode: 'auto' | 'required'; tools: NamedTool[] };

/** One tool by name, or with `name` null any of a server. */
export type NamedTool =
  | { type: 'knowledge_search' }
  | { type: 'function'; name: string }
  | { type: 'mcp'; serverLabel: string; name: string | null };
