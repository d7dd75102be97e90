import { z } from 'zod';
import { defineProvider } from '#adapters/sources/provider.ts';
import type {
  Fetched,
  FetchInput,
  ListedDocument,
  Source,
  SourceGroup,
  SourcePage,
  WatchEnd,
  WatchInput,
} from '#domain/knowledge/connectors/source.ts';

/** A subscription at a scripted source. */
export interface HeldWatch {
  refs: readonly string[];
  /** Waits for the pace of the host. */
  pace: WatchInput['pace'];
  /** Reports a change. */
  change: () => void;
  end: (how: WatchEnd) => void;
}

/** A scripted source: documents in memory, pages of `pageSize`, and what a test puts before each of its answers. */
export class MemorySource implements Source {
  readonly documents = new Map<string, Partial<ListedDocument> & { text: string; version: string }>();
  /** Addresses of the members of each group. */
  readonly members = new Map<string, readonly string[]>();
  pageSize = 3;
  /** Called before each request with its kind and argument; may throw or wait. */
  before: (request: keyof Source, argument: string | null) => void | Promise<void> = () => {};
  /** Replaces pages. */
  page: ((cursor: string | null, checkpoint: string | null) => SourcePage | null) | null = null;
  /** Reads several documents with one request; undefined: it cannot. */
  prepare?: NonNullable<Source['prepare']>;
  readonly requests: string[] = [];
  /** Subscriptions that are held. */
  readonly watches = new Set<HeldWatch>();
  /** Whether subscriptions depend on the references that are given. */
  usesRefs = true;

  put(ref: string, text: string, more: Partial<ListedDocument> = {}): void {
    const version = more.version ?? String(Number(this.documents.get(ref)?.version ?? 0) + 1);
    this.documents.set(ref, { ...more, text, version });
  }

  async check(): Promise<void> {
    await this.#request('check', null);
  }

  async list({
    cursor,
    checkpoint,
  }: {
    cursor: string | null;
    checkpoint: string | null;
  }): Promise<SourcePage> {
    await this.#request('list', cursor);
    const scripted = this.page?.(cursor, checkpoint) ?? null;
    if (scripted !== null) {
      return scripted;
    }
    const refs = [...this.documents.keys()].toSorted();
    const from = cursor === null ? 0 : Number(cursor);
    const to = from + this.pageSize;
    return {
      documents: refs.slice(from, to).map((ref) => this.#listed(ref)),
      gone: [],
      next: to < refs.length ? String(to) : null,
      checkpoint: null,
      total: refs.length,
      scope: 'everything',
    };
  }

  async fetch({ ref }: Pick<FetchInput, 'ref'>, _signal?: AbortSignal): Promise<Fetched> {
    await this.#request('fetch', ref);
    const found = this.documents.get(ref);
    return found === undefined
      ? { kind: 'gone' }
      : { kind: 'content', content: Buffer.from(found.text), mediaType: null, version: null };
  }

  async exists(ref: string): Promise<boolean> {
    await this.#request('exists', ref);
    return this.documents.has(ref);
  }

  async groups(cursor: string | null): Promise<{ groups: SourceGroup[]; next: string | null }> {
    await this.#request('groups', cursor);
    const groups = [...this.members].map(([id, members]) => ({ id, members }));
    const from = Number(cursor ?? 0);
    const to = from + this.pageSize;
    return { groups: groups.slice(from, to), next: to < groups.length ? String(to) : null };
  }

  async watch({ refs, pace, onSubscribed, onChange }: WatchInput, signal: AbortSignal): Promise<WatchEnd> {
    await this.#request('watch', null);
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<WatchEnd>();
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    const held = { refs, pace, change: onChange, end: resolve };
    this.watches.add(held);
    onSubscribed(this.usesRefs);
    try {
      return await promise;
    } finally {
      this.watches.delete(held);
    }
  }

  listed(ref: string): ListedDocument {
    return this.#listed(ref);
  }

  #listed(ref: string): ListedDocument {
    const { text: _, ...found } = this.documents.get(ref) ?? { text: '', version: '' };
    return { ref, name: `${ref}.md`, byteSize: null, mediaType: null, url: null, ...found };
  }

  async #request(kind: keyof Source, argument: string | null): Promise<void> {
    this.requests.push(argument === null ? kind : `${kind} ${argument}`);
    await this.before(kind, argument);
  }

  /** Requests of one kind since the last call. */
  take(kind: keyof Source): string[] {
    const all = this.requests.splice(0);
    return all.filter((request) => request.split(' ')[0] === kind);
  }
}

/** The provider `memory`: each scope names one of the given sources; with an origin, it takes a credential or an account for it, and it may name a tool server. */
export function memoryProvider(sources: ReadonlyMap<string, MemorySource>, { push = false } = {}) {
  return defineProvider({
    slug: 'memory',
    title: 'Memory',
    description: 'Documents of a test.',
    beta: false,
    scope: z.strictObject({
      name: z.string(),
      origin: z.url().optional(),
      note: z.string().optional(),
      server_id: z.uuid().optional(),
    }),
    credentialKinds: ['bearer'],
    credentialRequired: false,
    detects: { changes: 'listing', deletions: 'listing', readers: true, push },
    serverId: ({ server_id: id }) => id ?? null,
    endpoint: ({ name, origin = null }) => ({ host: name, origin }),
    connection: {
      authorization: ({ origin }) =>
        origin === undefined
          ? null
          : {
              issuer: 'https://login.example.com',
              authorizationUrl: 'https://login.example.com/authorize',
              tokenUrl: 'https://login.example.com/token',
              revocationUrl: 'https://login.example.com/revoke',
              scope: 'files.read',
              parameters: { prompt: 'consent' },
              clientAuthentication: 'client_secret_post',
            },
    },
    open: ({ name }) => sources.get(name) ?? new MemorySource(),
  });
}
