import { z } from 'zod';
import { maxDocuments, relistHours } from '../shared/scope-fields.ts';
import { webUrl } from '../shared/web-url.ts';

const kinds = z.enum(['issues', 'merge_requests', 'wiki_pages']);
export type GitlabKind = z.output<typeof kinds>;

export const gitlabScope = z.strictObject({
  base_url: webUrl('Address of GitLab, without /api/v4.').default('https://gitlab.com'),
  project: z
    .string()
    .max(500)
    .regex(
      /^(?:[1-9]\d{0,14}|(?!\.{1,2}\/)[\w.][\w.-]{0,254}(?:\/(?!\.{1,2}(?:\/|$))[\w.][\w.-]{0,254}){1,20})$/,
      'must be <group>/<project>, such as team/handbook, or the number of a project',
    )
    .describe('The project: its path with all groups, or its number.'),
  kinds: z
    .array(kinds)
    .min(1)
    .max(3)
    .default(['issues', 'merge_requests', 'wiki_pages'])
    .describe('What is read; issues and merge requests in every state.'),
  notes: z
    .boolean()
    .default(true)
    .describe('Whether notes belong to the documents. GitLab shows them with a credential only.'),
  confidential: z
    .boolean()
    .default(false)
    .describe('Whether confidential issues and internal notes are read, where the credential may see them.'),
  relist_hours: relistHours('what has changed'),
  max_documents: maxDocuments('documents'),
});

export type GitlabScope = z.output<typeof gitlabScope>;
