import { z } from 'zod';
import { maxDocuments } from '../shared/scope-fields.ts';
import { webUrl } from '../shared/web-url.ts';

export const googleDriveScope = z.strictObject({
  api_url: webUrl('Address of the interface, version 3.').default('https://www.googleapis.com/drive/v3'),
  shared_drive_id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,100}$/, 'must be the id of a shared drive')
    .optional()
    .describe('Only this shared drive. Without it: what the account owns, and what is shared with it.'),
  readers: z.boolean().default(true).describe('Whether permissions of files are read.'),
  link_is_public: z
    .boolean()
    .default(false)
    .describe(
      'Whether a file that anyone with its link may read counts as readable by everybody. Otherwise only a file that anyone may find does.',
    ),
  max_documents: maxDocuments('files', { max: 500_000, preset: 100_000 }),
});

export type GoogleDriveScope = z.output<typeof googleDriveScope>;
