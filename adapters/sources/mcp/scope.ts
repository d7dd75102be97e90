import { z } from 'zod';
import { maxDocuments } from '../shared/scope-fields.ts';

export const mcpScope = z
  .strictObject({
    server_id: z
      .uuid()
      .toLowerCase()
      .optional()
      .describe(
        'Id of a tool server that the space is connected to: its address and its credential are used. In place of url.',
      ),
    url: z
      .url({ protocol: /^https?$/ })
      .max(2_000)
      .refine((text) => {
        const url = URL.parse(text);
        return url !== null && url.username === '' && url.password === '' && url.hash === '';
      }, 'must hold no user name, password or fragment')
      .optional()
      .describe('Address of a tool server that speaks MCP over Streamable HTTP. In place of server_id.'),
    uri_patterns: z
      .array(z.string().min(1).max(500))
      .max(50)
      .default([])
      .describe(
        'Only resources whose URI fits one of these patterns; * stands for any characters. Empty: all.',
      ),
    max_documents: maxDocuments('resources', { max: 100_000, preset: 10_000 }),
  })
  .refine(({ server_id: id, url }) => (id === undefined) !== (url === undefined), {
    message: 'must name either server_id or url',
  })
  .meta({ oneOf: [{ required: ['server_id'] }, { required: ['url'] }] });

export type McpScope = z.output<typeof mcpScope>;
