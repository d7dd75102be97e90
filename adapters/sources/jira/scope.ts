import { z } from 'zod';
import { maxDocuments, relistHours } from '../shared/scope-fields.ts';
import { isEnclosable } from './jql.ts';
import { webUrl } from '../shared/web-url.ts';

export const jiraScope = z
  .strictObject({
    base_url: webUrl(
      'Address of Jira Cloud, such as https://example.atlassian.net, or https://api.atlassian.com/ex/jira/<cloud id> for tokens with scopes.',
    ),
    projects: z
      .array(
        z.string().regex(/^[A-Z][A-Z0-9_]{0,254}$/, 'must be the key of a project in capitals, such as HELP'),
      )
      .max(100)
      .default([])
      .describe('Keys of the projects that are read. Empty: those of the filter.'),
    jql: z
      .string()
      .trim()
      .max(2_000)
      .refine(isEnclosable, 'must close its parentheses and quotation marks, and no others')
      .default('')
      .describe('A filter in JQL, without ORDER BY, which the issues match as well. Empty: every issue.'),
    comments: z.boolean().default(true).describe('Whether comments belong to the documents.'),
    restricted: z
      .boolean()
      .default(false)
      .describe(
        'Whether issues with a security level, comments restricted to a role or group, and internal comments of service projects are read, where the credential may see them.',
      ),
    relist_hours: relistHours('what has changed'),
    max_documents: maxDocuments('issues'),
  })
  .refine(({ projects, jql }) => projects.length > 0 || jql !== '', 'must name projects, a filter, or both');

export type JiraScope = z.output<typeof jiraScope>;
