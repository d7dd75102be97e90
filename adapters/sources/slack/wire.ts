import { z } from 'zod';

const ts = z.string().regex(/^\d{1,11}\.\d{1,6}$/);
const channelId = z.string().regex(/^[A-Z0-9]{1,30}$/);
const paging = z.object({ next_cursor: z.string().max(4_000).optional() }).optional();

export const message = z.object({
  ts,
  text: z.string().default(''),
  user: z.string().max(40).optional(),
  username: z.string().optional(),
  subtype: z.string().optional(),
  thread_ts: ts.optional(),
  reply_count: z.int().min(0).optional(),
  latest_reply: ts.optional(),
  edited: z.object({ ts: z.string().max(40) }).optional(),
  files: z
    .array(z.object({ name: z.string().nullish() }))
    .max(1_000)
    .optional(),
});
export type Message = z.output<typeof message>;

/** `ok` is checked before. */
export const messages = z.object({
  messages: z.array(message).max(1_000),
  has_more: z.boolean().optional(),
  response_metadata: paging,
});
const channel = z.object({
  id: channelId,
  name: z.string().default(''),
  is_member: z.boolean().optional(),
  is_private: z.boolean().optional(),
  is_archived: z.boolean().optional(),
});
export type Channel = z.output<typeof channel>;
export const channelInfo = z.object({ channel });
export const channels = z.object({ channels: z.array(channel).max(1_000), response_metadata: paging });
export const userInfo = z.object({
  user: z.object({
    name: z.string().optional(),
    real_name: z.string().optional(),
    profile: z.object({ display_name: z.string().optional() }).optional(),
  }),
});
export const workspace = z.object({ url: z.string().max(1_000) });

export const answer = z.looseObject({ ok: z.boolean(), error: z.string().optional() });

/** Apps leave a channel when it is archived, and cannot be invited again: its messages stay as they were read. */
export function hasBeenLeft({ is_archived: isArchived, is_member: isMember }: Channel): boolean {
  return isArchived === true && isMember !== true;
}

const housekeeping = /^(?:channel|group)_(?:join|leave|topic|purpose|name|archive|unarchive)$/;

/** Whether people have written it. A reply that is also shown in the channel belongs to its thread. */
export function isSaid(message: Message): boolean {
  const { subtype = '' } = message;
  return !housekeeping.test(subtype) && !isDeleted(message) && subtype !== 'thread_broadcast';
}

/** Slack leaves something in place of a deleted message for as long as it has replies. */
export function isDeleted({ subtype }: Message): boolean {
  return subtype === 'tombstone';
}

export function beginsThread({ ts: own, thread_ts: thread, reply_count: replies = 0 }: Message): boolean {
  return thread === own && replies > 0;
}

/** Of UTC. */
export function dayOf(time: string): string {
  return new Date(Number(time) * 1_000).toISOString().slice(0, 10);
}
