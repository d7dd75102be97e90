import { z } from 'zod';
import { maxDocuments } from '../shared/scope-fields.ts';
import { webUrl } from '../shared/web-url.ts';

export const confluenceScope = z.strictObject({
  base_url: webUrl(
    'Address of Confluence Cloud, such as https://example.atlassian.net/wiki, or https://api.atlassian.com/ex/confluence/<cloud id>/wiki for tokens with scopes.',
  ),
  spaces: z
    .array(z.string().regex(/^~?[A-Za-z0-9._:-]{1,255}$/, 'must be the key of a space, such as DOCS'))
    .max(100)
    .default([])
    .describe('Keys of the spaces that are read. Empty: every space that the credential can see.'),
  readers: z
    .boolean()
    .default(true)
    .describe(
      'Whether permissions of spaces and restrictions of pages are read; needs a request for each page.',
    ),
  max_documents: maxDocuments('pages'),
});

export type ConfluenceScope = z.output<typeof confluenceScope>;
