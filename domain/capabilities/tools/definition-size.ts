import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';

export interface DefinitionSize {
  bytes: number;
  tokens: number;
}

/** No definition beyond this is offered: one tool is not to be most of a prompt. */
export const largestDefinition: DefinitionSize = { bytes: 32_768, tokens: 8_000 };

/** What a tool takes of each request to a model. What is too large anyhow is not counted in tokens. */
export function definitionSize(tool: {
  name: string;
  description: string;
  parameters: object;
}): DefinitionSize {
  const { name, description, parameters } = tool;
  const text = JSON.stringify({ name, description, parameters });
  const bytes = Buffer.byteLength(text);
  return { bytes, tokens: bytes > largestDefinition.bytes ? bytes : estimateTokens(text) };
}

export function isTooLarge({ bytes, tokens }: DefinitionSize): boolean {
  return bytes > largestDefinition.bytes || tokens > largestDefinition.tokens;
}
