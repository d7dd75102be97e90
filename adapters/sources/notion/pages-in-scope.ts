import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { Patience } from '../shared/patience.ts';
import { clockOf } from '../shared/service-time.ts';
import { Ancestors, type Standing } from './ancestors.ts';
import type { NotionClient } from './notion-client.ts';
import type { NotionScope } from './scope.ts';
import { notionId, type AnyPage, type Page } from './wire.ts';

/** Which pages are documents. */
export class PagesInScope {
  readonly #client: NotionClient;
  readonly #hasRows: boolean;
  readonly #ancestors: Ancestors;

  constructor(client: NotionClient, { root_pages: roots, database_rows: hasRows }: NotionScope) {
    this.#client = client;
    this.#hasRows = hasRows;
    this.#ancestors = new Ancestors(client, roots);
  }

  /** Splits pages that were listed into documents and others; those of which it is unknown are neither. */
  async split(
    pages: readonly AnyPage[],
    patience: Patience,
    signal: AbortSignal,
  ): Promise<{ wanted: Page[]; others: AnyPage[] }> {
    for (const page of pages) {
      this.#ancestors.learn(page);
    }
    const wanted: Page[] = [];
    const others: AnyPage[] = [];
    for (const page of pages) {
      const standing = await this.#standingOf(page, patience, signal);
      if (standing === 'within') {
        wanted.push(page as Page);
      } else if (standing === 'outside') {
        others.push(page);
      }
    }
    return { wanted, others };
  }

  /**
   * The page of a reference, and when it was read; null: it is not there, or no document of this scope.
   * @throws SourceFailure also where it is unknown whether it is one
   */
  async find(
    ref: string,
    patience: Patience,
    signal: AbortSignal,
  ): Promise<{ page: Page; readAtMs: number } | null> {
    const answer = notionId.safeParse(ref).success ? await this.#client.page(ref, signal) : null;
    const standing = answer === null ? 'outside' : await this.#standingOf(answer.value, patience, signal);
    if (standing === 'unknown') {
      throw new SourceFailure('source_invalid', 'Notion does not show the content of a page, or its place.');
    }
    return answer === null || standing === 'outside'
      ? null
      : { page: answer.value as Page, readAtMs: clockOf(answer.headers) };
  }

  async #standingOf(page: AnyPage, patience: Patience, signal: AbortSignal): Promise<Standing> {
    const { type = '' } = page.parent ?? {};
    const isRow = type === 'data_source_id' || type === 'database_id';
    if (isTrashed(page) || (isRow && !this.#hasRows)) {
      return 'outside';
    }
    return page.last_edited_time === undefined ? 'unknown' : this.#ancestors.find(page, patience, signal);
  }
}

export function isTrashed({ in_trash: isInTrash, archived }: AnyPage): boolean {
  return isInTrash === true || archived === true;
}
