import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import type {
  FetchInput,
  Fetched,
  ListedDocument,
  ListInput,
  Source,
  SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import { defineProvider, type SourceAccess } from '../provider.ts';
import { cursorOf, nextPlace, placeOf } from '../shared/page-place.ts';
import { webEndpoint } from '../shared/web-url.ts';
import { slackConnection } from './connection.ts';
import { dayDocument, dayVersion, threadDocument, threadVersion } from './documents.ts';
import { emptyDays } from './empty-days.ts';
import { isAbsent, isNotInChannel } from './failure.ts';
import {
  beginState,
  dayStart,
  readState,
  timesOf,
  toCheckpoint,
  withMessage,
  type ListingState,
} from './listing-state.ts';
import { namedUsers, toMarkdown } from './message-text.ts';
import { readDocument } from './read-document.ts';
import { slackScope, type SlackScope } from './scope.ts';
import { SlackClient } from './slack-client.ts';
import { beginsThread, dayOf, hasBeenLeft, isDeleted, isSaid, type Channel, type Message } from './wire.ts';

export const slackProvider = defineProvider<SlackScope>({
  slug: 'slack',
  title: 'Slack',
  description: 'Reads channels of Slack: each thread, and the other messages of each day, as one document.',
  beta: true,
  scope: slackScope,
  credentialKinds: ['bearer'],
  credentialRequired: true,
  connection: slackConnection,
  detects: { changes: 'listing', deletions: 'listing', readers: false, push: false },
  endpoint: ({ api_url: url }) => webEndpoint(url),
  open: (scope, access) => new SlackSource(scope, access),
});

/** The channels of the scope. */
interface Channels {
  /** Sorted by their ids. */
  listed: ReadonlyMap<string, Channel>;
  /** Ids of those that are archived, of which the documents stay. */
  left: ReadonlySet<string>;
}

/** What a page brings. */
interface Found {
  documents: ListedDocument[];
  gone: string[];
}

class SlackSource implements Source {
  readonly #scope: SlackScope;
  readonly #client: SlackClient;
  #channels: Promise<Channels> | null = null;

  constructor(scope: SlackScope, access: SourceAccess) {
    this.#scope = scope;
    this.#client = new SlackClient(scope.api_url, access);
  }

  async check(signal: AbortSignal): Promise<void> {
    await this.#client.authenticate(signal);
    this.#channels = null;
    await this.#inScope(signal);
  }

  /** A page holds the threads of a hundred messages, and the days that end with one of them. */
  async list({ cursor, checkpoint }: ListInput, signal: AbortSignal): Promise<SourcePage> {
    const place = placeOf(cursor);
    const { listed: channels } = await this.#inScope(signal);
    const ids = [...channels.keys()];
    const state = place.at === null ? beginState(checkpoint, this.#scope, ids) : readState(place.at);
    // A channel may be gone since the page before.
    const id = ids.find((each) => each >= state.channel);
    const found: Found = { documents: [], gone: [] };
    let following: ListingState | null = null;
    if (id !== undefined) {
      const at = id === state.channel ? state : { ...state, channel: id, latest: null, day: null };
      following = await this.#page(at, channels, found, signal);
    }
    const next = following === null ? null : JSON.stringify(following);
    const { take, ...end } = nextPlace(place, {
      count: found.documents.length,
      next,
      max: this.#scope.max_documents,
    });
    const isComplete = end.next === null && end.truncated !== true;
    return {
      documents: found.documents.slice(0, take),
      gone: end.truncated === true ? [] : found.gone,
      checkpoint: isComplete ? toCheckpoint(state, ids) : null,
      total: null,
      scope: state.mode,
      // What is said or edited after `began` is within the days that the next run reads.
      ...(state.mode === 'changes' && { at: cursorOf({ ...place, at: JSON.stringify(state) }) }),
      ...end,
    };
  }

  async fetch({ ref, version, maxBytes }: FetchInput, signal: AbortSignal): Promise<Fetched> {
    try {
      const found = await readDocument(this.#client, ref, maxBytes, signal);
      if (found === 'too_large') {
        return { kind: 'skipped', code: 'too_large' };
      }
      if (found === null) {
        return { kind: 'gone' };
      }
      const content = Buffer.from(cleanText(await this.#markdown(ref, found, signal)));
      if (content.byteLength > maxBytes) {
        return { kind: 'skipped', code: 'too_large' };
      }
      const listed = ref.includes('/d/') ? dayVersion(found) : threadVersion(found[0], Date.now());
      return listed !== null && listed === version
        ? { kind: 'unchanged' }
        : { kind: 'content', content, mediaType: 'text/markdown', version: listed };
    } catch (error) {
      if (isAbsent(error)) {
        return { kind: 'gone' };
      }
      throw error;
    }
  }

  async exists(ref: string, signal: AbortSignal): Promise<boolean> {
    const [channel = '', kind = '', at = ''] = ref.split('/');
    const began = kind === 'd' ? Date.parse(at) / 1_000 : Number(at);
    const oldest = dayStart(Date.now() / 1_000 - this.#scope.history_days * 86_400);
    const { listed, left } = await this.#inScope(signal);
    if (!listed.has(channel) || !(began >= oldest)) {
      return left.has(channel) && began >= oldest;
    }
    try {
      return (await readDocument(this.#client, ref, Number.POSITIVE_INFINITY, signal)) !== null;
    } catch (error) {
      if (isAbsent(error)) {
        return false;
      }
      throw error;
    }
  }

  async #page(
    state: ListingState,
    channels: ReadonlyMap<string, Channel>,
    { documents, gone }: Found,
    signal: AbortSignal,
  ): Promise<ListingState | null> {
    const { channel: id } = state;
    const channel = channels.get(id);
    const following = [...channels.keys()].find((each) => each > id);
    const behind = following === undefined ? null : { ...state, channel: following, latest: null, day: null };
    const page = await this.#history(state, signal);
    if (page === null) {
      return behind;
    }
    const { messages, hasMore } = page;
    const address = `${await this.#client.workspace(signal)}/archives/${id}`;
    let { day } = state;
    /** @param older the next day with a message, which ends the one until now; null: there is none */
    const endDay = (older: string | null) => {
      if (day !== null && channel !== undefined) {
        documents.push(dayDocument(channel, day, address));
      }
      if (state.mode === 'changes') {
        // All that was said on these days is deleted, or belongs to threads.
        gone.push(...emptyDays(state, day?.name ?? null, older).map((name) => `${id}/d/${name}`));
      }
      day = null;
    };
    for (const message of messages.filter(
      (each) => isSaid(each) || (isDeleted(each) && beginsThread(each)),
    )) {
      if (channel !== undefined && beginsThread(message)) {
        documents.push(threadDocument(channel, message, address));
        continue;
      }
      const name = dayOf(message.ts);
      if (day?.name !== name) {
        endDay(name);
      }
      day = withMessage(day, name, message);
    }
    if (hasMore) {
      return { ...state, latest: messages.at(-1)?.ts ?? null, day };
    }
    endDay(null);
    return behind;
  }

  /** Null: the channel has been archived meanwhile. */
  async #history(state: ListingState, signal: AbortSignal) {
    try {
      return await this.#client.history(state.channel, { ...timesOf(state), inclusive: false }, signal);
    } catch (error) {
      if (isNotInChannel(error) && hasBeenLeft(await this.#client.channel(state.channel, signal))) {
        return null;
      }
      throw error;
    }
  }

  async #markdown(ref: string, found: readonly Message[], signal: AbortSignal): Promise<string> {
    const said = found.filter((each) => !isDeleted(each));
    const names = new Map<string, string>();
    for (const id of new Set(said.flatMap(namedUsers))) {
      names.set(id, await this.#client.userName(id, signal));
    }
    const [id = '', kind, at = ''] = ref.split('/');
    const channel = (await this.#inScope(signal)).listed.get(id)?.name ?? id;
    return toMarkdown(kind === 'd' ? `#${channel}, ${at}` : `Thread in #${channel}`, said, names);
  }

  #inScope(signal: AbortSignal): Promise<Channels> {
    this.#channels ??= this.#loadChannels(signal).catch((error: unknown) => {
      this.#channels = null;
      throw error;
    });
    return this.#channels;
  }

  async #loadChannels(signal: AbortSignal): Promise<Channels> {
    const named: Channel[] = [];
    for (const id of new Set(this.#scope.channels)) {
      named.push({ ...(await this.#client.channel(id, signal)), id });
    }
    const all = named.length > 0 ? named : await this.#client.publicChannels(signal);
    const listed = all
      .filter((each) => !hasBeenLeft(each) && (named.length > 0 || each.is_member === true))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
    return {
      listed: new Map(listed.map((each) => [each.id, each])),
      left: new Set(all.filter(hasBeenLeft).map(({ id }) => id)),
    };
  }
}
