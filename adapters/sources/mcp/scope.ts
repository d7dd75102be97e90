import { z } from 'zod';
import { maxDocuments } from '../shared/scope-fields.ts';

export const mcpScope = z.strictObject({
  url: z
    .url({ protocol: /^https?$/ })
    .max(2_000)
    .refine((text) => {
      const url = URL.parse(text);
      return url !== null && url.username === '' && url.password === '' && url.hash === '';
    }, 'must hold no user name, password or fragment')
    .describe('Address of the tool server, which speaks MCP over Streamable HTTP.'),
  uri_patterns: z
    .array(z.string().min(1).max(500))
    .max(50)
    .default([])
    .describe(
      'Only resources whose URI fits one of these patterns; * stands for any characters. Empty: all.',
    ),
  max_documents: maxDocuments('resources', { max: 100_000, preset: 10_000 }),
});

export type McpScope = z.output<typeof mcpScope>;
