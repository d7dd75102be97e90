import { z } from 'zod';
import { webUrl } from '../shared/web-url.ts';

export const slackScope = z.strictObject({
  api_url: webUrl('Address of the interface.').default('https://slack.com/api'),
  channels: z
    .array(z.string().regex(/^[CG][A-Z0-9]{2,20}$/, 'must be the id of a channel'))
    .max(100)
    .default([])
    .describe(
      'Ids of channels, public or private, in which the app is a member. Empty: every public channel in which it is.',
    ),
  history_days: z
    .int()
    .min(1)
    .max(3_650)
    .default(365)
    .describe('Messages that are older are not read; a thread is as old as its first message.'),
  relist_hours: z
    .int()
    .min(0)
    .max(720)
    .default(24)
    .describe(
      'A run lists everything when the last complete listing is older than so many hours, and the last seven days otherwise. Deletions are found by complete listings only. 0: each run.',
    ),
  max_documents: z
    .int()
    .min(1)
    .max(200_000)
    .default(50_000)
    .describe('The listing ends after so many documents; then nothing counts as deleted.'),
});

export type SlackScope = z.output<typeof slackScope>;
