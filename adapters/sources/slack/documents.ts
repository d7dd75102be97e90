import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import type { ListedDocument } from '#domain/knowledge/connectors/source.ts';
import { recentSeconds, withMessage, type ListingState } from './listing-state.ts';
import { headline } from './message-text.ts';
import { dayOf, type Channel, type Message } from './wire.ts';

export function dayDocument(
  channel: Channel,
  day: NonNullable<ListingState['day']>,
  address: string,
): ListedDocument {
  return {
    ref: `${channel.id}/d/${day.name}`,
    name: `${cleanText(channel.name.slice(0, 100))}/${day.name}.md`,
    version: `${day.count}/${day.hash}`,
    byteSize: null,
    mediaType: 'text/markdown',
    url: address,
  };
}

export function threadDocument(channel: Channel, message: Message, address: string): ListedDocument {
  const { ts } = message;
  return {
    ref: `${channel.id}/t/${ts}`,
    name: `${cleanText(channel.name.slice(0, 100))}/${dayOf(ts)} ${cleanText(headline(message))}.md`,
    version: threadVersion(message, Date.now()),
    byteSize: null,
    mediaType: 'text/markdown',
    url: `${address}/p${ts.replace('.', '')}`,
  };
}

/** Null for a recent thread: an edited reply shows nowhere in its first message. */
export function threadVersion(message: Message | undefined, nowMs: number): string | null {
  const { text, edited, reply_count: count, latest_reply: latest, ts = '0' } = message ?? {};
  return nowMs / 1_000 - Number(latest ?? ts) < recentSeconds
    ? null
    : `${count}/${sha256(JSON.stringify([text, edited?.ts, latest])).slice(0, 32)}`;
}

export function dayVersion(said: readonly Message[]): string {
  const day = said.reduceRight<ListingState['day']>((before, each) => withMessage(before, '', each), null);
  return `${day?.count ?? 0}/${day?.hash ?? ''}`;
}
