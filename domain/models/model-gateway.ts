/** The port to language models. One implementation per provider kind stands in adapters/models. */

export const providerKinds = ['openai', 'anthropic', 'google', 'openai_compatible', 'builtin'] as const;
export type ProviderKind = (typeof providerKinds)[number];

/** How a model goes on after a crash in mid-text: see docs/durability.md. */
export const continuations = ['replay', 'reattach', 'prefill', 'instruct', 'none'] as const;
export type Continuation = (typeof continuations)[number];

/** What a message to a model may hold. */
export const inputModalities = ['text', 'image', 'file'] as const;
export type InputModality = (typeof inputModalities)[number];

export interface ModelSpec {
  alias: string;
  providerKind: ProviderKind;
  providerModel: string;
  baseUrl: string | null;
  /** Name of the environment variable with the vendor's key. */
  credentialRef: string | null;
  maxOutputTokens: number;
}

export type PromptMessage =
  | { role: 'system' | 'user'; text: string }
  | { role: 'assistant'; text: string; calls: PromptCall[] }
  | { role: 'tool'; callId: string; name: string; result: string };

export interface PromptCall {
  callId: string;
  name: string;
  /** JSON text. */
  arguments: string;
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
  model: ModelSpec;
  messages: PromptMessage[];
  tools: ToolDefinition[];
  toolChoice: ToolChoice;
  parallelToolCalls: boolean;
  maxOutputTokens: number;
  temperature: number | null;
  topP: number | null;
  reasoningEffort: string | null;
  format: TextFormat;
}

export interface TokenUsage {
  inputTokens: number;
  cachedInputTokens: number;
  /** Includes reasoning. */
  outputTokens: number;
  reasoningTokens: number;
}

export type ModelPart =
  | { type: 'text'; text: string }
  | { type: 'tool_call'; name: string; arguments: string }
  | { type: 'finish'; reason: 'stop' | 'length' | 'tool_calls' | 'content_filter'; usage: TokenUsage | null };

export interface ModelGateway {
  /**
   * One model call. Ends with exactly one `finish` part.
   * @throws ModelFailure; never an error that carries the prompt.
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPart>;
}

export type ModelFailureCode =
  | 'model_error'
  | 'model_timeout'
  | 'rate_limited'
  | 'context_length_exceeded'
  /** The model refuses a prompt that ends with its own words: continue it another way. */
  | 'trailing_assistant_refused';

/** A vendor's failure, stripped of everything that the vendor or the prompt said. */
export class ModelFailure extends Error {
  readonly code: ModelFailureCode;
  readonly retryable: boolean;
  /** From the vendor's retry-after, in milliseconds. */
  readonly retryAfterMs: number | null;

  constructor(
    code: ModelFailureCode,
    options: { retryable: boolean; retryAfterMs?: number | null; status?: number },
  ) {
    super(options.status === undefined ? code : `${code} (HTTP ${options.status})`);
    this.name = 'ModelFailure';
    this.code = code;
    this.retryable = options.retryable;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}
