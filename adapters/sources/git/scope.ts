import { createHash } from 'node:crypto';
import { z } from 'zod';
import { patternList } from '../shared/path-patterns.ts';
import { webUrl } from '../shared/web-url.ts';

/** What git forbids in names of branches, as far as it matters to the protocol. */
const branchForm = /^[^\p{Cc}\s~^:?*[\\]+$/u;

export const gitScope = z.strictObject({
  url: webUrl(
    'Address of the repository over https, as for `git clone`: https://git.example.org/team/handbook.git',
  ),
  branch: z
    .string()
    .min(1)
    .max(200)
    .regex(branchForm, 'must be the name of a branch, such as main')
    .nullable()
    .default(null)
    .describe('Branch, such as main; null: the default branch of the repository.'),
  path: z
    .string()
    .max(1_000)
    .transform((path) => path.split('/').filter(Boolean).join('/'))
    .default('')
    .describe('Folder whose files are documents, such as docs/handbook; empty: all files.'),
  include: patternList(
    'Patterns of paths below the folder, such as **/*.md; empty: all. `*` matches within a name, `**` over folders.',
  ),
  exclude: patternList('Patterns of paths that are left out, such as drafts/.'),
});

export type GitScope = z.infer<typeof gitScope>;

/** Says whether a commit was listed with the same scope: a change of patterns is no change of the repository. */
export function scopeDigest(scope: GitScope): string {
  return createHash('sha256').update(JSON.stringify(scope)).digest('hex').slice(0, 16);
}
