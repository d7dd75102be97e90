import type { Space } from './space.entity.ts';

/** What a client of the OpenAI surface that names no tools is offered: nothing, or all that the space grants. */
export const openAiTools = ['asked', 'granted'] as const;
export type OpenAiTools = (typeof openAiTools)[number];

export function openAiToolsOf({ policy }: Pick<Space, 'policy'>): OpenAiTools {
  return policy.openai_tools === 'granted' ? 'granted' : 'asked';
}
