import type { z } from 'zod';
import type { addModelInput, updateModelInput } from '#api/contract/procedures.ts';
import type { PriceUsd } from '#domain/capabilities/models/pricing.ts';
import type { ModelSettings } from '#domain/capabilities/models/update-model.ts';

/** The given settings under the names of the use cases; omitted settings stay omitted. */
export function toModelSettings(input: Omit<z.infer<typeof updateModelInput>, 'alias'>): ModelSettings {
  return {
    ...(input.base_url === undefined ? {} : { baseUrl: input.base_url }),
    ...(input.credential_ref === undefined ? {} : { credentialRef: input.credential_ref }),
    ...(input.credential_id === undefined ? {} : { credentialId: input.credential_id }),
    ...(input.continuation === undefined ? {} : { continuation: input.continuation }),
    ...(input.supports_reasoning === undefined ? {} : { supportsReasoning: input.supports_reasoning }),
    ...(input.input_modalities === undefined ? {} : { inputModalities: input.input_modalities }),
    ...(input.context_window === undefined ? {} : { contextWindow: input.context_window }),
    ...(input.max_output_tokens === undefined ? {} : { maxOutputTokens: input.max_output_tokens }),
  };
}

export function toPriceInput(price: z.infer<typeof addModelInput>['price']): PriceUsd {
  return { input: price.input, cachedInput: price.cached_input ?? null, output: price.output };
}
