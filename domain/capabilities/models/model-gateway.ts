import type { CredentialIdentity } from '#domain/capabilities/credentials/credential-source.ts';
import type { VendorRefusal } from './vendor-refusal.ts';

/** The port to language models. One implementation per provider kind stands in adapters/models. */

export const providerKinds = ['openai', 'anthropic', 'google', 'openai_compatible', 'builtin'] as const;
export type ProviderKind = (typeof providerKinds)[number];

/** How a model continues after a crash in mid-text: see docs/durability.md. */
export const continuations = ['replay', 'reattach', 'prefill', 'instruct', 'none'] as const;
export type Continuation = (typeof continuations)[number];

/** Content types of messages to a model. */
export const inputModalities = ['text', 'image', 'file', 'audio'] as const;
export type InputModality = (typeof inputModalities)[number];

export interface ModelSpec {
  alias: string;
  providerKind: ProviderKind;
  providerModel: string;
  baseUrl: string | null;
  /** Name of the environment variable with the vendor's key. */
  credentialRef: string | null;
  /** The stored credential used instead, and the principal for whom it is used. */
  stored?: CredentialIdentity;
  maxOutputTokens: number;
  supportsReasoning: boolean;
  /** Calls run on the vendor's side and can be read again after a crash. */
  storesRuns: boolean;
  inputModalities: readonly InputModality[];
}

/** State that a provider requires back unchanged: signatures, encrypted reasoning, its own ids. JSON. */
export type OpaqueState = Record<string, unknown>;

export type PromptMessage =
  | { role: 'system'; text: string }
  /** `parts` when the message holds more than text; `text` is then its text alone. */
  | { role: 'user'; text: string; parts?: PromptPart[] }
  | {
      role: 'assistant';
      /** Precedes the text. Only reasoning of this very model. */
      reasoning?: PromptReasoning[];
      text: string;
      /** Provider state of the text. */
      state?: OpaqueState;
      calls: PromptCall[];
    }
  /** `files`: images and sounds beside the text, which names each. */
  | { role: 'tool'; callId: string; name: string; result: string; files?: PromptFile[] };

export type PromptPart = { type: 'text'; text: string } | PromptFile;

export interface PromptFile {
  type: 'file';
  /** Such as `image/png` or `application/pdf`. */
  mediaType: string;
  /** Base64. */
  data: string;
  filename: string | null;
  /** For images. */
  detail: 'auto' | 'low' | 'high' | null;
}

export interface PromptReasoning {
  text: string;
  state: OpaqueState;
}

export interface PromptCall {
  callId: string;
  name: string;
  /** JSON text. */
  arguments: string;
  state?: OpaqueState;
}

export interface ToolDefinition {
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  parameters: Record<string, unknown>;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { name: string };

export type TextFormat =
  | { type: 'text' }
  | { type: 'json_object' }
  | { type: 'json_schema'; name: string; schema: Record<string, unknown>; strict?: boolean | undefined };

export interface ModelRequest {
  tenantId: string;
  model: ModelSpec;
  messages: PromptMessage[];
  tools: ToolDefinition[];
  toolChoice: ToolChoice;
  parallelToolCalls: boolean;
  maxOutputTokens: number;
  temperature: number | null;
  topP: number | null;
  reasoningEffort: ReasoningEffort | null;
  reasoningSummary: ReasoningSummary | null;
  /** The vendor's own run of an earlier attempt, which is read again from its start instead of a new call. */
  resume: string | null;
  format: TextFormat;
}

export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type ReasoningEffort = (typeof reasoningEfforts)[number];
export type ReasoningSummary = 'auto' | 'concise' | 'detailed';

export interface TokenUsage {
  inputTokens: number;
  cachedInputTokens: number;
  /** Includes reasoning. */
  outputTokens: number;
  reasoningTokens: number;
}

export type ModelPart =
  /** The vendor runs this call by itself; it can be read again by `id`. */
  | { type: 'run'; id: string }
  | { type: 'text'; text: string }
  /** End of a text that the provider requires back with `state`. */
  | { type: 'text_state'; state: OpaqueState }
  /** One complete piece of reasoning. `summary`: whether `text` is meant for people. */
  | { type: 'reasoning'; text: string; summary: boolean; state: OpaqueState }
  | { type: 'tool_call'; name: string; arguments: string; state: OpaqueState | null }
  | { type: 'finish'; reason: 'stop' | 'length' | 'tool_calls' | 'content_filter'; usage: TokenUsage | null };

export interface ModelGateway {
  /**
   * One model call. Ends with exactly one `finish` part.
   * @throws ModelFailure; never an error that carries the prompt.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPart>;
  /** Cancels the vendor's own run of a call. Only kinds with such runs have it. @throws any error */
  abandon?(model: ModelSpec, runId: string, signal: AbortSignal): Promise<void>;
}

export type ModelFailureCode =
  | 'model_error'
  | 'model_timeout'
  | 'rate_limited'
  | 'context_length_exceeded'
  /** The model refuses a prompt that ends with an assistant message: continue another way. */
  | 'trailing_assistant_refused'
  /** The vendor no longer has the run that was to be read again. */
  | 'run_lost';

/** A vendor's failure, without any text of the vendor or of the prompt. */
export class ModelFailure extends Error {
  readonly code: ModelFailureCode;
  readonly retryable: boolean;
  /** From the vendor's retry-after, in milliseconds. */
  readonly retryAfterMs: number | null;
  /** null: the vendor returned no error response. */
  readonly refusal: VendorRefusal | null;

  constructor(
    code: ModelFailureCode,
    options: { retryable: boolean; retryAfterMs?: number | null; refusal?: VendorRefusal },
  ) {
    super(options.refusal === undefined ? code : `${code} (HTTP ${options.refusal.status})`);
    this.name = 'ModelFailure';
    this.code = code;
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.refusal = options.refusal ?? null;
  }
}
