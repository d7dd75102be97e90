import { z } from 'zod';
import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { isRecentListing } from '../shared/recent-listing.ts';
import { parseState, parseStored } from '../shared/stored-text.ts';
import type { Message } from './wire.ts';

/** Of states and checkpoints: those before the second form are of listings that left out messages. */
const form = z.literal(2);

const state = z.object({
  form,
  mode: z.enum(['everything', 'changes']),
  /** Begin of this listing, and of the last complete one, in seconds. */
  began: z.number(),
  whole: z.number(),
  /** Begin of the first day that is read. */
  oldest: z.number(),
  channel: z.string(),
  /** Time of the last message that was read in the channel; null: none was. */
  latest: z.string().nullable(),
  /** The day whose messages go on, and the hash and number of those until now. */
  day: z.object({ name: z.string(), hash: z.string(), count: z.number() }).nullable(),
});
export type ListingState = z.output<typeof state>;

const checkpointForm = z.object({
  form,
  began: z.number(),
  whole: z.number(),
  channels: z.array(z.string()),
});

export const daySeconds = 86_400;
/** How far a listing of changes goes back, and how long replies of a thread are read for later changes. */
export const recentSeconds = 7 * daySeconds;

/** How far the clock here may be behind that of Slack. */
const clockMarginSeconds = 3_600;

export function dayStart(seconds: number): number {
  return Math.floor(seconds / daySeconds) * daySeconds;
}

export function beginState(
  checkpoint: string | null,
  scope: { history_days: number; relist_hours: number },
  channels: readonly string[],
): ListingState {
  const now = Date.now() / 1_000;
  const before = checkpoint === null ? null : parseStored(checkpointForm, checkpoint);
  const listed = new Set(before?.channels);
  const isUsable =
    before !== null &&
    isRecentListing(before.whole * 1_000, scope.relist_hours) &&
    // Of a clock that was wrong: the days until then would be left out.
    before.began <= now &&
    channels.every((id) => listed.has(id));
  const first = dayStart(now - scope.history_days * daySeconds);
  return {
    form: 2,
    mode: isUsable ? 'changes' : 'everything',
    began: now,
    whole: isUsable ? before.whole : now,
    oldest: isUsable ? Math.max(first, dayStart(before.began - recentSeconds)) : first,
    channel: channels[0] ?? '',
    latest: null,
    day: null,
  };
}

export function toCheckpoint({ form: own, began, whole }: ListingState, channels: readonly string[]): string {
  return JSON.stringify({ form: own, began, whole, channels });
}

/**
 * The times between which messages are asked for. Both are always given: asked with the earlier time alone, Slack
 * answers with the messages that are next to it, and not with the newest. Both are left out themselves, so the earlier
 * one is before the first instant of its day.
 */
export function timesOf({ began, oldest, latest }: ListingState): { oldest: string; latest: string } {
  return {
    oldest: (oldest - 0.000_001).toFixed(6),
    latest: latest ?? (began + clockMarginSeconds).toFixed(6),
  };
}

export function readState(text: string): ListingState {
  return parseState(state, text);
}

/** The day with one more message, of which all that is shown counts. */
export function withMessage(
  day: ListingState['day'],
  name: string,
  message: Message,
): NonNullable<ListingState['day']> {
  const { ts, text, user, edited, files = [] } = message;
  const [hash, count] = day === null ? ['', 0] : [day.hash, day.count];
  const shown = JSON.stringify([hash, ts, text, user, edited?.ts, files]);
  return { name, hash: sha256(shown).slice(0, 32), count: count + 1 };
}
