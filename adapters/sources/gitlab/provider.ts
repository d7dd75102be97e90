import {
  SourceFailure,
  type FetchInput,
  type Fetched,
  type ListInput,
  type Source,
  type SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import { defineProvider, type SourceAccess } from '../provider.ts';
import { laterPage } from '../shared/later-page.ts';
import { nextPlace, placeOf } from '../shared/page-place.ts';
import { serviceTime } from '../shared/service-time.ts';
import { webEndpoint } from '../shared/web-url.ts';
import { ItemReader } from './item-reader.ts';
import type { KindReader } from './kind-reader.ts';
import { beginState, endOf, readState } from './listing-state.ts';
import { ProjectApi } from './project-api.ts';
import { gitlabScope, type GitlabKind, type GitlabScope } from './scope.ts';
import { WikiReader } from './wiki-reader.ts';

export const gitlabProvider = defineProvider<GitlabScope>({
  slug: 'gitlab',
  title: 'GitLab issues, merge requests and wiki',
  description: 'Reads the issues and merge requests of a project of GitLab with their notes, and its wiki.',
  beta: true,
  scope: gitlabScope,
  credentialKinds: ['bearer', 'header'],
  credentialRequired: false,
  detects: { changes: 'request', deletions: 'listing', readers: false, push: false },
  endpoint: ({ base_url: url }) => webEndpoint(url),
  open: (scope, access) => new GitlabSource(scope, access),
});

class GitlabSource implements Source {
  readonly #scope: GitlabScope;
  readonly #hasCredential: boolean;
  readonly #api: ProjectApi;
  readonly #readers: ReadonlyMap<GitlabKind, KindReader>;

  constructor(given: GitlabScope, access: SourceAccess) {
    // Notes are shown to signed-in users only, also those of public projects.
    const hasCredential = access.credential !== null;
    const scope = { ...given, notes: given.notes && hasCredential };
    const api = new ProjectApi(scope, access);
    this.#scope = scope;
    this.#hasCredential = hasCredential;
    this.#api = api;
    this.#readers = new Map(
      scope.kinds.map((kind) => [
        kind,
        kind === 'wiki_pages' ? new WikiReader(scope, api) : new ItemReader(kind, scope, api),
      ]),
    );
  }

  async check(signal: AbortSignal): Promise<void> {
    if (this.#hasCredential) {
      await this.#api.checkSignedIn(signal);
    }
    await this.#api.checkProject(signal);
    for (const [kind, reader] of this.#readers) {
      await reader.check(signal).catch((error: unknown) => {
        throw refusedKind(kind, error);
      });
    }
  }

  async list({ cursor, checkpoint }: ListInput, signal: AbortSignal): Promise<SourcePage> {
    const place = placeOf(cursor);
    const state = place.at === null ? beginState(checkpoint, this.#scope) : readState(place.at);
    const [kind, reader] = [...this.#readers][state.kind] ?? [];
    if (kind === undefined || reader === undefined) {
      throw new SourceFailure('cursor_expired', 'The listing has to begin again.');
    }
    const page = await laterPage(state.paging !== null, reader.page(state, signal));
    state.began ||= serviceTime(page.headers);
    const { paging } = page;
    const following = { ...state, paging, kind: state.kind + (paging === null ? 1 : 0) };
    const { take, ...end } = nextPlace(place, {
      count: page.documents.length,
      next: following.kind === this.#readers.size ? null : JSON.stringify(following),
      max: this.#scope.max_documents,
    });
    const isComplete = end.next === null && end.truncated !== true;
    return {
      documents: page.documents.slice(0, take),
      gone: page.gone.map((id) => `${kind}/${id}`),
      checkpoint: isComplete ? endOf(state, this.#scope) : null,
      total: null,
      scope: state.before === null ? 'everything' : 'changes',
      ...end,
    };
  }

  async fetch({ ref, ...input }: FetchInput, signal: AbortSignal): Promise<Fetched> {
    const { reader, id } = this.#read(ref);
    return reader === undefined ? { kind: 'gone' } : reader.fetch(id, input, signal);
  }

  async exists(ref: string, signal: AbortSignal): Promise<boolean> {
    const { reader, id } = this.#read(ref);
    return reader !== undefined && (await reader.exists(id, signal));
  }

  #read(ref: string): { reader: KindReader | undefined; id: string } {
    const end = ref.indexOf('/');
    return { reader: this.#readers.get(ref.slice(0, end) as GitlabKind), id: ref.slice(end + 1) };
  }
}

/** The project was shown: a kind that is refused is switched off there, or not shown to this credential. */
function refusedKind(kind: GitlabKind, error: unknown): unknown {
  return error instanceof SourceFailure && error.code === 'auth_failed'
    ? new SourceFailure('scope_invalid', `The project does not show its ${kind} to this credential.`, {
        cause: error,
      })
    : error;
}
