import type { Space } from './space.entity.ts';

/** The tools for a client of the OpenAI surface that names none: no tools, or all that the space grants. */
export const openAiTools = ['asked', 'granted'] as const;
export type OpenAiTools = (typeof openAiTools)[number];

export function openAiToolsOf({ policy }: Pick<Space, 'policy'>): OpenAiTools {
  return policy.openai_tools === 'granted' ? 'granted' : 'asked';
}
