import {
  SourceFailure,
  type FetchInput,
  type Fetched,
  type ListInput,
  type Source,
  type SourcePage,
  type WatchEnd,
  type WatchInput,
} from '#domain/knowledge/connectors/source.ts';
import { defineProvider, type SourceAccess } from '../provider.ts';
import { webEndpoint } from '../shared/web-url.ts';
import { answerBytes, toFetched } from './contents.ts';
import {
  answeredFailure,
  AnswerTooLarge,
  isRefusedResource,
  isUnknownResource,
  RequestRefused,
} from './failure.ts';
import { fromCursor, pageSize, toCursor, toPage, type ListedPage } from './listing.ts';
import { mcpScope, type McpScope } from './scope.ts';
import { McpSession } from './session.ts';
import { uriFilter } from './uri-patterns.ts';
import { watchResources } from './watch-resources.ts';

/** A server whose pages have no end, or hold nothing, is not asked for more. */
const maxAnswers = 2_000;

export const mcpProvider = defineProvider<McpScope>({
  slug: 'mcp',
  title: 'Resources of a tool server (MCP)',
  description: 'Reads the resources that a tool server offers over the Model Context Protocol.',
  beta: false,
  scope: mcpScope,
  credentialKinds: ['bearer', 'header', 'oauth2_client'],
  credentialRequired: false,
  detects: { changes: 'request', deletions: 'listing', readers: false, push: true },
  serverId: ({ server_id: id }) => id ?? null,
  endpoint: (scope, serverUrl = scope.url) =>
    serverUrl === undefined ? { host: null, origin: null } : webEndpoint(serverUrl),
  open: (scope, access) => {
    const url = access.serverUrl ?? scope.url;
    if (url === undefined) {
      throw new SourceFailure('scope_invalid', 'The scope names no tool server.');
    }
    return new McpSource({ ...scope, url }, access);
  },
});

interface Located extends McpScope {
  url: string;
}

class McpSource implements Source {
  readonly #scope: Located;
  readonly #access: SourceAccess;
  readonly #session: McpSession;
  readonly #fits: (uri: string) => boolean;
  /** The last answer: pages of it need no other request. */
  #answer: (ListedPage & { cursor: string | null }) | null = null;

  constructor(scope: Located, access: SourceAccess) {
    this.#scope = scope;
    this.#access = access;
    this.#session = new McpSession(scope.url, access);
    this.#fits = uriFilter(scope.uri_patterns);
  }

  async check(signal: AbortSignal): Promise<void> {
    await this.#list(null, signal);
  }

  async list(input: ListInput, signal: AbortSignal): Promise<SourcePage> {
    const place = fromCursor(input.cursor);
    const held = this.#answer;
    const isHeld = held !== null && place.offset > 0 && held.cursor === place.cursor;
    const answer = isHeld ? held : await this.#list(place.cursor, signal);
    const left = this.#scope.max_documents - place.listed;
    const documents = answer.documents.slice(place.offset, place.offset + Math.min(pageSize, left));
    const listed = place.listed + documents.length;
    const offset = place.offset + documents.length;
    const isRest = offset >= answer.documents.length;
    const answers = place.answers + (isRest ? 1 : 0);
    const isOver =
      (listed === this.#scope.max_documents && !(isRest && answer.next === null)) ||
      (isRest && answer.next !== null && (answer.next === place.cursor || answers >= maxAnswers));
    const cursor = isRest ? answer.next : place.cursor;
    const isLast = isOver || (isRest && answer.next === null);
    return {
      documents,
      gone: [],
      next: isLast ? null : toCursor({ cursor, offset: isRest ? 0 : offset, listed, answers }),
      checkpoint: null,
      total: null,
      scope: 'everything',
      ...(isOver && { truncated: true }),
    };
  }

  async fetch({ ref, maxBytes }: FetchInput, signal: AbortSignal): Promise<Fetched> {
    try {
      const asking = { signal, maxBytes: answerBytes(maxBytes) };
      const fetched = toFetched(
        await this.#session.request('resources/read', { uri: ref }, asking),
        maxBytes,
      );
      if (fetched === null) {
        throw new SourceFailure('source_invalid', 'The tool server answers with no contents of a resource.');
      }
      return fetched;
    } catch (error) {
      if (error instanceof AnswerTooLarge) {
        return { kind: 'skipped', code: 'too_large' };
      }
      if (error instanceof RequestRefused) {
        return { kind: 'skipped', code: 'forbidden_by_source' };
      }
      if (isUnknownResource(error)) {
        return { kind: 'gone' };
      }
      throw answeredFailure(error);
    }
  }

  async exists(ref: string, signal: AbortSignal): Promise<boolean> {
    if (!this.#fits(ref)) {
      return false;
    }
    try {
      const input = { ref, version: null, mediaType: null, maxBytes: 1_024 };
      const fetched = await this.fetch(input, signal);
      // Asked only after a whole listing without it: what is refused then is not there.
      const isRefused = fetched.kind === 'skipped' && fetched.code === 'forbidden_by_source';
      return fetched.kind !== 'gone' && !isRefused;
    } catch (error) {
      if (isRefusedResource(error)) {
        return false;
      }
      throw error;
    }
  }

  watch(input: WatchInput, signal: AbortSignal): Promise<WatchEnd> {
    const { url } = this.#scope;
    return watchResources({ url, access: this.#access, fits: this.#fits }, input, signal);
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  async #list(cursor: string | null, signal: AbortSignal): Promise<ListedPage> {
    try {
      const params = cursor === null ? {} : { cursor };
      const result = await this.#session.request('resources/list', params, { signal });
      const page = await toPage(result, this.#fits);
      this.#answer = { ...page, cursor };
      return page;
    } catch (error) {
      // An answer to the first page cannot speak of its cursor.
      throw cursor !== null && isUnknownResource(error)
        ? new SourceFailure('cursor_expired', 'The tool server no longer knows the page of its listing.')
        : answeredFailure(error);
    }
  }
}
