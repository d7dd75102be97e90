import { z } from 'zod';

/** Fields of OpenAI's clients that do not affect the answer: accepted, and without effect. */

const label = z.string().max(1_000).nullish();

/** End-user and cache hints. Never stored: they may be personal data. */
export const hints = {
  client_metadata: z.record(z.string(), z.unknown()).nullish(),
  user: label,
  safety_identifier: label,
  prompt_cache_key: label,
  prompt_cache_options: z
    .strictObject({
      mode: z.enum(['implicit', 'explicit']).nullish(),
      ttl: z.enum(['5m', '30m', '1h', '24h']).nullish(),
    })
    .nullish(),
  prompt_cache_retention: z.enum(['in_memory', 'in-memory', '24h']).nullish(),
  service_tier: z.enum(['auto', 'default', 'fast', 'flex', 'priority', 'scale']).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
};

export const verbosity = z.enum(['low', 'medium', 'high']).nullish();

/** Which turns' reasoning the vendor should retain, and its effort: vendor settings without effect here. */
export const reasoningHints = {
  context: z.enum(['auto', 'current_turn', 'all_turns']).nullish(),
  mode: z.enum(['standard', 'pro']).nullish(),
};

/** Includes without content here; reasoning is stored, and found by its item's id. */
export const emptyIncludes = [
  'web_search_call.results',
  'web_search_call.action.sources',
  'message.input_image.image_url',
  'computer_call_output.output.image_url',
  'code_interpreter_call.outputs',
  'reasoning.encrypted_content',
] as const;

const hostedTypes = [
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
  'code_interpreter',
  'image_generation',
  'computer',
  'computer_use',
  'computer_use_preview',
  'local_shell',
  'shell',
  'apply_patch',
  'custom',
  'namespace',
  'tool_search',
  'programmatic_tool_calling',
] as const;

/** A tool that OpenAI runs, or describes in its own way: it is dropped, and the answer lists it as unsupported. */
export const hostedTool = z.looseObject({ type: z.enum(hostedTypes) });
export type HostedTool = z.infer<typeof hostedTool>;

export function isHosted(tool: unknown): tool is HostedTool {
  return hostedTool.safeParse(tool).success;
}
