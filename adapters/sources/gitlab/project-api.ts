import type { SourceAccess } from '../provider.ts';
import { JsonApi, type Answer } from '../shared/json-api.ts';
import { withoutSlashes } from '../shared/web-url.ts';
import type { ItemKind } from './document.ts';
import { gitlabFailure } from './failure.ts';
import type { GitlabScope } from './scope.ts';
import * as wire from './wire.ts';

/** A description or a note has up to a million characters: a page of more might exceed the limit of a response. */
const pageSize = 50;
const maxNotePages = 100;

/** The requests about one project. */
export class ProjectApi {
  readonly #api: JsonApi;
  readonly #path: string;

  constructor({ base_url: base, project }: GitlabScope, access: SourceAccess) {
    this.#api = new JsonApi(access, { base: `${withoutSlashes(base)}/api/v4`, failure: gitlabFailure });
    this.#path = `/projects/${encodeURIComponent(project)}`;
  }

  async checkProject(signal: AbortSignal): Promise<void> {
    await this.#api.get(this.#path, wire.project, { signal });
  }

  /** @throws SourceFailure when GitLab takes no notice of the credential: what is public it shows all the same */
  async checkSignedIn(signal: AbortSignal): Promise<void> {
    // A token may be recognised and not be permitted to read its own user, and a proxy may not pass this path on.
    await this.#api.seek('/user', wire.user, { signal, absent: [403, 404] });
  }

  async checkItems(kind: ItemKind, signal: AbortSignal): Promise<void> {
    await this.#api.get(`${this.#path}/${kind}?per_page=1`, wire.items, { signal });
  }

  /** @param paging of the page; null: the first page, by keyset where this GitLab has it for the kind */
  async items(
    kind: ItemKind,
    { paging, since }: { paging: string | null; since: string | null },
    signal: AbortSignal,
  ): Promise<Answer<wire.Item[]>> {
    const pathOf = (fields: string) => {
      const query = new URLSearchParams(fields);
      // By creation, so that a change meanwhile moves nothing to another page.
      const fixed = { state: 'all', order_by: 'created_at', sort: 'asc', per_page: String(pageSize) };
      for (const [name, value] of Object.entries({ ...fixed, ...(since && { updated_after: since }) })) {
        query.set(name, value);
      }
      return `${this.#path}/${kind}?${query.toString()}`;
    };
    if (kind === 'issues' && paging === null) {
      const asking = { signal, absent: [405] };
      const byKeyset = await this.#api.seek(pathOf('pagination=keyset'), wire.items, asking);
      if (byKeyset !== null) {
        return byKeyset;
      }
    }
    return this.#api.ask(pathOf(paging ?? ''), wire.items, { signal });
  }

  item(kind: ItemKind, iid: string, signal: AbortSignal): Promise<wire.Item | null> {
    return this.#api.find(`${this.#path}/${kind}/${iid}`, wire.item, { signal });
  }

  /** Of people, in the order in which they were written. Null: they are longer than `maxBytes`. */
  async notes(
    kind: ItemKind,
    iid: string,
    { maxBytes, confidential }: { maxBytes: number; confidential: boolean },
    signal: AbortSignal,
  ): Promise<wire.Note[] | null> {
    const found: wire.Note[] = [];
    let length = 0;
    let paging: string | null = '';
    for (let pages = 0; paging !== null && pages < maxNotePages; pages += 1) {
      const path: string = `${this.#path}/${kind}/${iid}/notes?sort=asc&order_by=created_at&per_page=${pageSize}&${paging}`;
      const answer: Answer<wire.Note[]> | null = await this.#api.seek(path, wire.notes, {
        signal,
        absent: [404],
      });
      const said = (answer?.value ?? []).filter(
        (note) => note.system !== true && (confidential || !(note.internal ?? note.confidential ?? false)),
      );
      found.push(...said);
      length += said.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
      if (length > maxBytes) {
        return null;
      }
      paging = answer === null ? null : wire.nextIn(answer.headers);
    }
    return found;
  }

  /** All of them: GitLab does not page this list. */
  wikiPages(signal: AbortSignal): Promise<Answer<wire.WikiEntry[]>> {
    return this.#api.ask(`${this.#path}/wikis`, wire.wikiEntries, { signal });
  }

  /** @throws TooLong */
  wikiPage(slug: string, maxBytes: number, signal: AbortSignal): Promise<wire.WikiPage | null> {
    const path = `${this.#path}/wikis/${encodeURIComponent(slug)}`;
    return this.#api.find(path, wire.wikiPage, { signal, maxBytes: 2 * maxBytes + 65_536 });
  }
}
