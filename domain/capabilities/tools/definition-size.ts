import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';

export interface DefinitionSize {
  bytes: number;
  tokens: number;
}

/** Larger definitions are not offered: one tool must not fill most of a prompt. */
export const maxDefinition: DefinitionSize = { bytes: 32_768, tokens: 8_000 };

/**
 * What a tool adds to each request to a model. Tokens are not counted for a definition that is too large in bytes.
 */
export function definitionSize(tool: {
  name: string;
  description: string;
  parameters: object;
}): DefinitionSize {
  const { name, description, parameters } = tool;
  const text = JSON.stringify({ name, description, parameters });
  const bytes = Buffer.byteLength(text);
  return { bytes, tokens: bytes > maxDefinition.bytes ? bytes : estimateTokens(text) };
}

export function isTooLarge({ bytes, tokens }: DefinitionSize): boolean {
  return bytes > maxDefinition.bytes || tokens > maxDefinition.tokens;
}
