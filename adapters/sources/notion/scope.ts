import { z } from 'zod';
import { maxDocuments, relistHours } from '../shared/scope-fields.ts';
import { webUrl } from '../shared/web-url.ts';

export const notionScope = z.strictObject({
  api_url: webUrl('Address of the interface, without /v1.').default('https://api.notion.com'),
  root_pages: z
    .array(
      z
        .string()
        .regex(
          /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$/,
          'must be 32 hexadecimal digits with hyphens or without, such as at the end of the address of a page',
        ),
    )
    .max(50)
    .default([])
    .describe(
      'Ids of pages, databases or data sources: they and all pages below them are read. Empty: every page that is shared with the integration.',
    ),
  database_rows: z
    .boolean()
    .default(true)
    .describe('Whether the pages of databases are read, with their properties.'),
  relist_hours: relistHours('what was edited or moved to the trash'),
  max_documents: maxDocuments('pages'),
});

export type NotionScope = z.output<typeof notionScope>;
