import type {
  ReasoningEffort,
  ReasoningSummary,
  TextFormat,
} from '#domain/capabilities/models/model-gateway.ts';
import type { InputContent, SummaryText } from './output-items.ts';
import type { IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';

/** A request as the wire schema has parsed it: shapes are right, meanings are not settled yet. */
export interface CreateResponseInput {
  spaceId: string;
  input: InputItem[];
  /** null: the space's default. */
  modelAlias: string | null;
  /** null: everything that the space grants, or of a `plain` request what the space says. */
  tools: RequestedTool[] | null;
  /** Nobody who asks so expects tools that were not named. */
  plain?: boolean;
  /** Tools that were named and that nothing here implements, by their type. */
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
  /** Collections that knowledge_search may look into; null: all of the space. */
  collectionIds: string[] | null;
  /** The thread whose messages its question and answer become; its first branch when none is named. */
  thread?: { threadId: string; branchId: string | null } | null | undefined;
  /** Whose published version the response is given. */
  skillId?: string | null;
  /** false: the content goes ten minutes after the end. */
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
      /** When it holds more than text; `text` is then what of it is text. */
      content?: InputContent[];
    }
  /** One of ours by its id, else only what it says to people. */
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
    }
  /** `tool` is an exposed name; null: all that are enabled. */
  | { type: 'pattern'; slug: string; tool: string | null }
  | {
      type: 'mcp';
      serverLabel: string;
      /** The tools' own or exposed names; null: all that are enabled. */
      allowedTools: string[] | null;
      /** Tools whose calls need consent beside those of which the space says so; `all` or by name. */
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
