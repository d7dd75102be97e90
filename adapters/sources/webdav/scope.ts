import { z } from 'zod';
import { patternList } from '../shared/path-patterns.ts';
import { webUrl } from '../shared/web-url.ts';

export const webdavScope = z.strictObject({
  base_url: webUrl(
    'WebDAV address of the files over https, such as https://cloud.example.org/remote.php/dav/files/reader',
  ),
  path: z
    .string()
    .max(1_000)
    .refine((path) => !path.split('/').some((name) => name === '.' || name === '..'), 'must not hold . or ..')
    .transform((path) => path.split('/').filter(Boolean).join('/'))
    .default('')
    .describe('Folder below the address whose files are documents, not encoded; empty: all files.'),
  include: patternList(
    'Patterns of paths below the folder, such as **/*.pdf; empty: all. `*` matches within a name, `**` over folders.',
  ),
  exclude: patternList('Patterns of paths that are left out, such as drafts/; such folders are not visited.'),
});

export type WebdavScope = z.infer<typeof webdavScope>;
