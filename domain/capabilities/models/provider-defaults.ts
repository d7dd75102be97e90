import type { Continuation, InputModality, ProviderKind } from './model-gateway.ts';

export interface ProviderDefaults {
  continuation: Continuation;
  supportsReasoning: boolean;
  inputModalities: InputModality[];
  contextWindow: number;
  maxOutputTokens: number;
}

const plain: ProviderDefaults = {
  continuation: 'instruct',
  supportsReasoning: false,
  inputModalities: ['text'],
  contextWindow: 128_000,
  maxOutputTokens: 8_192,
};

/**
 * Defaults of a provider's models for settings that a row leaves out. OpenAI's reasoning models are recognised by
 * name. Only older Claude models accept a trailing assistant message, and only without thinking; after a model
 * refuses one, the next attempt uses `instruct`.
 */
export function providerDefaults(kind: ProviderKind, model: string): ProviderDefaults {
  switch (kind) {
    case 'openai':
      return {
        ...plain,
        supportsReasoning: /^(o\d|gpt-(?!3|4))/.test(model) && !/chat/.test(model),
        inputModalities: ['text', 'image', 'file'],
        maxOutputTokens: 16_384,
      };
    case 'anthropic': {
      const prefills = takesPrefill(model);
      return {
        ...plain,
        continuation: prefills ? 'prefill' : 'instruct',
        supportsReasoning: !prefills,
        inputModalities: ['text', 'image', 'file'],
        contextWindow: 200_000,
      };
    }
    case 'google':
      return {
        ...plain,
        supportsReasoning: !/gemini-(1|2\.0)/.test(model),
        inputModalities: ['text', 'image', 'file', 'audio'],
        contextWindow: 1_000_000,
      };
    case 'openai_compatible':
      return plain;
    case 'builtin':
      return { ...plain, continuation: 'replay', contextWindow: 200_000, maxOutputTokens: 4_096 };
  }
}

/** Claude models from before thinking: `claude-3-opus`, `claude-3-5-haiku` and similar. */
function takesPrefill(model: string): boolean {
  return /^claude-3-(?!7)/.test(model) || /^claude-(2|instant)/.test(model);
}
