import {
  SourceFailure,
  type Fetched,
  type FetchInput,
  type ListInput,
  type Source,
  type SourceFailureCode,
  type SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import type { SourceAccess } from '../provider.ts';
import { contentWithin } from '../shared/content-within.ts';
import { discardBody, readBody } from '../shared/bounded-body.ts';
import { followRedirects } from '../shared/follow-redirects.ts';
import { asSourceFailures, requestFailure, statusFailure } from '../shared/http-failure.ts';
import { conditionOf, versionOf } from '../shared/http-version.ts';
import { userAgent } from '../shared/user-agent.ts';
import { encodeCursor, parseCheckpoint, parseCursor, type FeedCursor } from './feed-cursor.ts';
import { documentsOf, feedKeyOf, type FeedDocument } from './feed-documents.ts';
import { readFeed } from './read-feed.ts';

const maxFeedBytes = 8 * 1_048_576;
const documentsPerPage = 100;
const maxPageBytes = 4 * 1_048_576;
const feedsPerPage = 10;
const checkedFeeds = 3;

interface LoadedFeed {
  url: string;
  documents: readonly FeedDocument[];
  version: string | null;
}

/** Entries that a feed no longer has are kept: feeds show the newest alone. */
export class RssSource implements Source {
  readonly #urls: readonly string[];
  readonly #access: Pick<SourceAccess, 'fetch' | 'use'>;
  /** The feed that was read last, for the pages of it and for `fetch`. */
  #loaded: LoadedFeed | null = null;

  constructor(urls: readonly string[], access: Pick<SourceAccess, 'fetch' | 'use'>) {
    this.#urls = urls;
    this.#access = access;
  }

  check(signal: AbortSignal): Promise<void> {
    return asSourceFailures(signal, async () => {
      const failures: unknown[] = [];
      for (const url of this.#urls.slice(0, checkedFeeds)) {
        try {
          await this.#load(url, null, signal);
          return;
        } catch (error) {
          if (signal.aborted) throw error;
          failures.push(requestFailure(error, signal));
        }
      }
      const passing = failures.find((failure) => !isEnding(failure));
      throw (
        passing ??
        (this.#urls.length > checkedFeeds
          ? this.#ofSeveral(failures[0], 'Some of the feeds cannot be read.')
          : failures[0])
      );
    });
  }

  list({ cursor, checkpoint }: ListInput, signal: AbortSignal): Promise<SourcePage> {
    return asSourceFailures(signal, async () => {
      const known = parseCheckpoint(checkpoint);
      const state: FeedCursor =
        cursor === null
          ? {
              pending: [...this.#urls.keys()],
              failed: [],
              isLastTry: false,
              read: 0,
              offset: 0,
              versions: new Map(),
            }
          : parseCursor(cursor, this.#urls.length);
      const documents: FeedDocument[] = [];
      const failures: { ref: string; code: SourceFailureCode; message: string }[] = [];
      for (let feeds = 0; feeds < feedsPerPage && !isFull(documents); feeds += 1) {
        const [index] = state.pending;
        if (index === undefined) break;
        try {
          await this.#take(state, this.#urls[index] ?? '', { known, documents, signal });
        } catch (error) {
          if (signal.aborted) throw error;
          if (!state.isLastTry && this.#urls.length > 1) {
            state.failed.push(index);
            nextFeed(state);
          } else {
            const failure = requestFailure(error, signal);
            if (!isOwn(failure, state) || (state.pending.length === 1 && state.read === 0)) {
              // What the page has counts; the next one begins with the failure.
              if (documents.length === 0) throw this.#ofSeveral(failure, 'None of the feeds can be read.');
              break;
            }
            const [{ code, message }, ref] = [failure, this.#urls[index] ?? ''];
            failures.push({ ref, code, message });
            // The next run lists all of it.
            state.versions.delete(feedKeyOf(ref));
            nextFeed(state);
          }
        }
        if (state.pending.length === 0 && state.failed.length > 0) {
          Object.assign(state, { pending: state.failed, failed: [], isLastTry: true });
        }
      }
      const isEnd = state.pending.length === 0;
      return {
        documents,
        failures,
        gone: [],
        next: isEnd ? null : encodeCursor(state),
        checkpoint: isEnd ? JSON.stringify(Object.fromEntries(state.versions)) : null,
        total: null,
        scope: 'changes',
      };
    });
  }

  fetch({ ref, version, maxBytes }: FetchInput, signal: AbortSignal): Promise<Fetched> {
    return asSourceFailures(signal, async () => {
      const url = this.#urls.find((each) => ref.startsWith(`${feedKeyOf(each)}/`));
      const feed = url === undefined ? null : await this.#loadOnce(url, signal);
      const document = feed?.documents.find((each) => each.ref === ref);
      if (document === undefined) {
        return version === null ? { kind: 'skipped', code: 'not_a_document' } : { kind: 'unchanged' };
      }
      const { content, mediaType } = document;
      if (version === document.version) {
        return { kind: 'unchanged' };
      }
      return contentWithin(maxBytes, content, { mediaType, version: document.version });
    });
  }

  exists(): Promise<boolean> {
    return Promise.resolve(true);
  }

  /** What some of several feeds refuse, or lack, is no reason to suspend the connector. */
  #ofSeveral(failure: unknown, which: string): unknown {
    return isEnding(failure) && this.#urls.length > 1
      ? new SourceFailure('source_unreachable', `${which} ${failure.message}`)
      : failure;
  }

  /** The entries of one feed from the offset on, as many as the page takes. */
  async #take(
    state: FeedCursor,
    url: string,
    page: { known: ReadonlyMap<string, string>; documents: FeedDocument[]; signal: AbortSignal },
  ): Promise<void> {
    const { known, documents, signal } = page;
    const key = feedKeyOf(url);
    const before = known.get(key) ?? null;
    const isBeginning = state.offset === 0;
    const feed = isBeginning ? await this.#load(url, before, signal) : await this.#loadOnce(url, signal);
    const version = feed === null ? before : feed.version;
    // Of a feed that changes while it is listed, the first version: the next run reads it again.
    if (isBeginning && version !== null) state.versions.set(key, version);
    for (const document of feed?.documents.slice(state.offset) ?? []) {
      if (isFull(documents)) return;
      documents.push(document);
      state.offset += 1;
    }
    state.read += 1;
    nextFeed(state);
  }

  async #loadOnce(url: string, signal: AbortSignal): Promise<LoadedFeed | null> {
    return this.#loaded?.url === url ? this.#loaded : this.#load(url, null, signal);
  }

  /** @returns null: it has not changed since that version */
  async #load(url: string, version: string | null, signal: AbortSignal): Promise<LoadedFeed | null> {
    const init = { signal, headers: { 'user-agent': userAgent, ...conditionOf(version) } };
    const { response } = await followRedirects(this.#access.fetch, url, init);
    if (response.status !== 200) {
      await discardBody(response);
      if (response.status === 304 && version !== null) return null;
      throw response.status < 400
        ? new SourceFailure('source_invalid', 'A feed address answers without a feed.')
        : statusFailure(response);
    }
    const content = await readBody(response, maxFeedBytes);
    if (content === null) {
      throw new SourceFailure('source_invalid', `A feed has more than ${maxFeedBytes} bytes.`);
    }
    const feed = await readFeed(this.#access.use.tenantId, content, signal);
    this.#loaded = { url, documents: documentsOf(url, feed), version: versionOf(response) };
    return this.#loaded;
  }
}

/** Failures that suspend a connector at once. */
function isEnding(failure: unknown): failure is SourceFailure {
  return failure instanceof SourceFailure && ['scope_invalid', 'auth_failed'].includes(failure.code);
}

/** Of one of several feeds, tried once more. A pause that some feed asks for holds up no others that could be read. */
function isOwn(failure: unknown, { read }: FeedCursor): failure is SourceFailure {
  return failure instanceof SourceFailure && (failure.code !== 'rate_limited' || read > 0);
}

function nextFeed(state: FeedCursor): void {
  state.pending.shift();
  state.offset = 0;
}

function isFull(documents: readonly FeedDocument[]): boolean {
  const bytes = documents.reduce((sum, { content }) => sum + content.byteLength, 0);
  return documents.length >= documentsPerPage || bytes >= maxPageBytes;
}
