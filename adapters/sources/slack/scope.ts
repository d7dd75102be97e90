import { z } from 'zod';
import { maxDocuments, relistHours } from '../shared/scope-fields.ts';
import { webUrl } from '../shared/web-url.ts';

export const slackScope = z.strictObject({
  api_url: webUrl('Address of the interface.').default('https://slack.com/api'),
  channels: z
    .array(z.string().regex(/^[CG][A-Z0-9]{2,20}$/, 'must be the id of a channel, such as C0123ABCDEF'))
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
  relist_hours: relistHours(
    'the last seven days',
    'Deletions of older messages, and of whole threads, are found by complete listings only.',
  ),
  max_documents: maxDocuments('documents'),
});

export type SlackScope = z.output<typeof slackScope>;
