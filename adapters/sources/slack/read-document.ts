import type { SlackClient } from './slack-client.ts';
import { beginsThread, isDeleted, isSaid, type Message } from './wire.ts';

const maxDayPages = 100;

/** What was said in a document, in the order of time, also what was deleted of a thread’s beginning; null: nothing is there. */
export async function readDocument(
  client: SlackClient,
  ref: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Message[] | 'too_large' | null> {
  const [channel = '', kind = '', at = ''] = ref.split('/');
  if (kind === 't') {
    const thread = await client.thread(channel, at, maxBytes, signal);
    const [first] = thread ?? [];
    if (thread === null) {
      return 'too_large';
    }
    const replies = thread.filter((each) => each.ts !== at && isReply(each));
    const isThere =
      first?.ts === at && beginsThread(first) && (isSaid(first) || (isDeleted(first) && replies.length > 0));
    return isThere ? [first, ...replies] : null;
  }
  const start = Date.parse(at) / 1_000;
  if (!Number.isFinite(start)) {
    return null;
  }
  const found: Message[] = [];
  let latest = (start + 86_400).toFixed(6);
  let length = 0;
  for (let pages = 0; pages < maxDayPages; pages += 1) {
    // Slack counts the first instant of a day to it only where both ends are included.
    const between = { oldest: (start - 0.000_001).toFixed(6), latest, inclusive: false };
    const { messages, hasMore } = await client.history(channel, between, signal);
    const said = messages.filter((each) => isSaid(each) && !beginsThread(each));
    found.push(...said);
    length += said.reduce((sum, { text }) => sum + text.length, 0);
    if (length > maxBytes) {
      return 'too_large';
    }
    if (!hasMore) {
      return found.length === 0 ? null : found.toReversed();
    }
    latest = messages.at(-1)?.ts ?? latest;
  }
  return 'too_large';
}

function isReply(message: Message): boolean {
  return isSaid(message) || message.subtype === 'thread_broadcast';
}
