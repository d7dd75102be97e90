import { z } from 'zod';
import { maxDocuments, relistHours } from '../shared/scope-fields.ts';
import { webUrl } from '../shared/web-url.ts';
import type { DriveFile } from './wire.ts';

/** Who reads a file may change without a change of the file. */
const maxReaderHours = 24;

export const googleDriveScope = z
  .strictObject({
    api_url: webUrl('Address of the interface, version 3.').default('https://www.googleapis.com/drive/v3'),
    shared_drive_id: z
      .string()
      .regex(
        /^[A-Za-z0-9_-]{1,100}$/,
        'must be the id of a shared drive, such as in https://drive.google.com/drive/folders/<id>',
      )
      .optional()
      .describe(
        'Only this shared drive. Without it: what the account owns, and what is shared with it; no shared drive of which it is a member.',
      ),
    readers: z.boolean().default(true).describe('Whether permissions of files are read.'),
    link_is_public: z
      .boolean()
      .default(false)
      .describe(
        'Whether a file that anyone with its link may read counts as readable by everybody. Otherwise only a file that anyone may find does.',
      ),
    relist_hours: relistHours('what has changed').describe(
      'A run lists everything when the last complete listing is older than so many hours, and what has changed otherwise; at most 24 while readers is true. 0: each run.',
    ),
    max_documents: maxDocuments('files', { max: 500_000, preset: 100_000 }),
  })
  .refine(({ readers, relist_hours: hours }) => !readers || hours <= maxReaderHours, {
    path: ['relist_hours'],
    message: `must be at most ${maxReaderHours} while readers is true`,
  });

export type GoogleDriveScope = z.output<typeof googleDriveScope>;

/**
 * The log of changes of an account names changes in a shared drive of which it is a member only by chance: such a drive
 * is read by its own log. A file that is shared with an account outside its drive stays in the log of the account.
 */
export function isInScope(
  { driveId, capabilities }: DriveFile,
  { shared_drive_id: drive }: GoogleDriveScope,
): boolean {
  return drive === undefined
    ? driveId === undefined || capabilities?.canReadDrive === false
    : driveId === drive;
}
