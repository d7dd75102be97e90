import { z } from 'zod';
import { maxDocuments, relistHours } from '../shared/scope-fields.ts';
import { webUrl } from '../shared/web-url.ts';

export const githubScope = z.strictObject({
  api_url: webUrl(
    'Address of the REST interface; of GitHub Enterprise Server https://<host>/api/v3.',
  ).default('https://api.github.com'),
  repositories: z
    .array(
      z
        .string()
        .regex(
          /^[A-Za-z0-9-]{1,39}\/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/,
          'must be <owner>/<name>, such as octocat/hello-world',
        ),
    )
    .min(1)
    .max(20)
    .describe('Repositories as <owner>/<name>.'),
  kinds: z
    .array(z.enum(['issues', 'pull_requests', 'discussions']))
    .min(1)
    .max(3)
    .default(['issues', 'pull_requests'])
    .describe(
      'What is read, open and closed. GitHub shows discussions with a credential or an account only.',
    ),
  comments: z.boolean().default(true).describe('Whether comments belong to the documents.'),
  reviews: z
    .boolean()
    .default(false)
    .describe(
      'Whether reviews of pull requests and their comments belong to the documents. Each pull request then needs requests of its own.',
    ),
  relist_hours: relistHours('what has changed'),
  max_documents: maxDocuments('documents'),
});

export type GithubScope = z.output<typeof githubScope>;
