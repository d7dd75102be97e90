import type { FetchInput, Fetched } from '#domain/knowledge/connectors/source.ts';
import { contentWithin } from '../shared/content-within.ts';
import { itemDocument, itemMarkdown, versionOf, type ItemKind } from './document.ts';
import type { KindPage, KindReader } from './kind-reader.ts';
import type { ListingState } from './listing-state.ts';
import type { ProjectApi } from './project-api.ts';
import type { GitlabScope } from './scope.ts';
import { nextIn, type Item } from './wire.ts';

/** Issues or merge requests with their notes. */
export class ItemReader implements KindReader {
  readonly #kind: ItemKind;
  readonly #scope: GitlabScope;
  readonly #api: ProjectApi;

  constructor(kind: ItemKind, scope: GitlabScope, api: ProjectApi) {
    this.#kind = kind;
    this.#scope = scope;
    this.#api = api;
  }

  check(signal: AbortSignal): Promise<unknown> {
    return this.#api.checkItems(this.#kind, signal);
  }

  async page({ paging, before }: ListingState, signal: AbortSignal): Promise<KindPage> {
    const place = { paging, since: before?.since ?? null };
    const { value, headers } = await this.#api.items(this.#kind, place, signal);
    const wanted = value.filter((item) => this.#isWanted(item));
    return {
      documents: wanted.map((item) => {
        const content = this.#needsNotes(item) ? null : itemMarkdown(this.#kind, item, []);
        return itemDocument(this.#kind, item, this.#scope, content);
      }),
      // An issue that has become confidential.
      gone: value.filter((item) => !wanted.includes(item)).map(({ iid }) => String(iid)),
      paging: nextIn(headers),
      headers,
    };
  }

  async fetch(
    id: string,
    { version, maxBytes }: Pick<FetchInput, 'version' | 'maxBytes'>,
    signal: AbortSignal,
  ): Promise<Fetched> {
    const found = await this.#find(id, signal);
    if (found === null) {
      return { kind: 'gone' };
    }
    const current = versionOf(found, this.#scope);
    if (current === version) {
      return { kind: 'unchanged' };
    }
    const limits = { maxBytes, confidential: this.#scope.confidential };
    const notes = this.#needsNotes(found) ? await this.#api.notes(this.#kind, id, limits, signal) : [];
    const content = notes === null ? null : itemMarkdown(this.#kind, found, notes);
    return contentWithin(maxBytes, content, { mediaType: 'text/markdown', version: current });
  }

  async exists(id: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#find(id, signal)) !== null;
  }

  async #find(id: string, signal: AbortSignal): Promise<Item | null> {
    const found = /^\d{1,15}$/.test(id) ? await this.#api.item(this.#kind, id, signal) : null;
    return found !== null && this.#isWanted(found) ? found : null;
  }

  #isWanted({ confidential }: Item): boolean {
    return this.#scope.confidential || confidential !== true;
  }

  #needsNotes({ user_notes_count: count }: Item): boolean {
    return this.#scope.notes && count > 0;
  }
}
