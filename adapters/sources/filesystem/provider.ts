import { z } from 'zod';
import { pathFilterFields } from '../shared/path-filter.ts';
import { defineProvider } from '../provider.ts';
import { FilesystemSource, rootOf } from './filesystem-source.ts';

const isPath = (path: string): boolean =>
  path === '' ||
  path.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && !part.includes('\0'));

const scope = z.strictObject({
  root: z.string().min(1).max(100).describe('Name of a folder that the operator has opened to connectors.'),
  path: z
    .string()
    .max(1_000)
    .refine(isPath, 'must be a path inside the root, without . and .. and without a slash at its ends')
    .default('')
    .describe('A folder inside the root; empty for the whole root.'),
  ...pathFilterFields({ exclude: ['**/.*'] }),
});

export const filesystemProvider = defineProvider<z.infer<typeof scope>>({
  slug: 'filesystem',
  title: 'Folder',
  description: 'Files of a folder that the operator has opened to connectors.',
  beta: false,
  scope,
  credentialKinds: [],
  credentialRequired: false,
  detects: { changes: 'listing', deletions: 'listing', readers: true, push: false },
  endpoint: () => ({ host: null, origin: null }),
  open: ({ root, ...folder }, { roots }) => new FilesystemSource(rootOf(roots, root), folder),
});
