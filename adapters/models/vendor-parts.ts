import type { LanguageModelV4StreamPart, SharedV4ProviderMetadata } from '@ai-sdk/provider';
import { ModelFailure, type ModelPart, type OpaqueState } from '#domain/capabilities/models/model-gateway.ts';
import { own } from '#domain/foundation/kernel/own.ts';

/** Converts a provider's stream to model parts: text immediately, reasoning and opaque state when complete. */
export class PartReader {
  readonly #options: { summarises: boolean; resumed: boolean };
  readonly #reasoning = new Map<string, { text: string; state: OpaqueState }>();
  readonly #texts = new Map<string, OpaqueState>();

  /** `resumed`: the run is read again, so a failed run returns the same failure. */
  constructor(options: { summarises: boolean; resumed: boolean }) {
    this.#options = options;
  }

  *read(part: LanguageModelV4StreamPart): Generator<ModelPart> {
    try {
      yield* this.#read(part);
    } catch (error) {
      throw this.#options.resumed
        ? new ModelFailure('run_lost', { retryable: true, retryAfterMs: 1 })
        : error;
    }
  }

  *#read(part: LanguageModelV4StreamPart): Generator<ModelPart> {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        yield* this.#readText(part);
        break;
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        yield* this.#readReasoning(part);
        break;
      case 'tool-call':
        yield {
          type: 'tool_call',
          name: part.toolName,
          arguments: part.input,
          state: part.providerMetadata ?? null,
        };
        break;
      case 'error':
        throw part.error;
      case 'finish':
        yield toFinish(part);
        break;
      default:
    }
  }

  *#readText(
    part: Extract<LanguageModelV4StreamPart, { type: 'text-start' | 'text-delta' | 'text-end' }>,
  ): Generator<ModelPart> {
    if (part.providerMetadata !== undefined) {
      this.#texts.set(part.id, merge(this.#texts.get(part.id), part.providerMetadata));
    }
    if (part.type === 'text-delta' && part.delta !== '') {
      yield { type: 'text', text: part.delta };
    }
    const state = this.#texts.get(part.id);
    if (part.type === 'text-end' && state !== undefined) {
      yield { type: 'text_state', state };
    }
  }

  *#readReasoning(
    part: Extract<
      LanguageModelV4StreamPart,
      { type: 'reasoning-start' | 'reasoning-delta' | 'reasoning-end' }
    >,
  ): Generator<ModelPart> {
    const { text, state } = this.#reasoning.get(part.id) ?? { text: '', state: {} };
    const known = {
      text: part.type === 'reasoning-delta' ? text + part.delta : text,
      state: merge(state, part.providerMetadata),
    };
    this.#reasoning.set(part.id, known);
    if (part.type === 'reasoning-end') {
      this.#reasoning.delete(part.id);
      yield { type: 'reasoning', summary: this.#options.summarises, ...known };
    }
  }
}

/** Merges the metadata of a block; later values win, since a signature comes at the end. */
function merge(known: OpaqueState = {}, more: SharedV4ProviderMetadata = {}): OpaqueState {
  const laid = Object.entries(more).map(([provider, metadata]) => [
    provider,
    { ...(own(known, provider) as object | undefined), ...metadata },
  ]);
  return { ...known, ...Object.fromEntries(laid) };
}

function toFinish(part: Extract<LanguageModelV4StreamPart, { type: 'finish' }>): ModelPart {
  const { inputTokens, outputTokens } = part.usage;
  const usage = {
    inputTokens: inputTokens.total ?? NaN,
    cachedInputTokens: inputTokens.cacheRead ?? 0,
    outputTokens: outputTokens.total ?? NaN,
    reasoningTokens: outputTokens.reasoning ?? 0,
  };
  return {
    type: 'finish',
    reason: finishReason(part.finishReason.unified),
    usage: Object.values(usage).every(isCount) ? usage : null,
  };
}

/** Upper bound of a model's context. */
const maxTokens = 10_000_000;

/** Rejects implausible usage, which is treated as missing. */
function isCount(tokens: number): boolean {
  return Number.isInteger(tokens) && tokens >= 0 && tokens <= maxTokens;
}

/** @throws an unfinished stream is a failure of the vendor, not an answer */
function finishReason(unified: string): Extract<ModelPart, { type: 'finish' }>['reason'] {
  switch (unified) {
    case 'length':
      return 'length';
    case 'content-filter':
      return 'content_filter';
    case 'tool-calls':
      return 'tool_calls';
    case 'stop':
      return 'stop';
    default:
      throw new Error('unfinished');
  }
}
