import type { Answer } from '../shared/json-api.ts';
import { Ancestors } from './ancestors.ts';
import type { NotionClient } from './notion-client.ts';
import type { Patience } from './patience.ts';
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

  /** Splits pages that were listed into documents and others. */
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
      if (await this.#isWanted(page, patience, signal)) {
        wanted.push(page as Page);
      } else {
        others.push(page);
      }
    }
    return { wanted, others };
  }

  /** The page of a reference, and when it was read; null: it is not there, or no document of this scope. */
  async find(
    ref: string,
    patience: Patience,
    signal: AbortSignal,
  ): Promise<{ page: Page; readAtMs: number } | null> {
    const answer = notionId.safeParse(ref).success ? await this.#client.page(ref, signal) : null;
    return answer !== null && (await this.#isWanted(answer.value, patience, signal))
      ? { page: answer.value as Page, readAtMs: clockOf(answer) }
      : null;
  }

  async #isWanted(page: AnyPage, patience: Patience, signal: AbortSignal): Promise<boolean> {
    const { type = '' } = page.parent ?? {};
    const isRow = type === 'data_source_id' || type === 'database_id';
    return (
      page.last_edited_time !== undefined &&
      !isTrashed(page) &&
      (this.#hasRows || !isRow) &&
      (await this.#ancestors.isWithin(page, patience, signal))
    );
  }
}

export function isTrashed({ in_trash: isInTrash, archived }: AnyPage): boolean {
  return isInTrash === true || archived === true;
}

/** The time of a response, by the clock of the service. */
export function clockOf({ headers }: Answer<unknown>): number {
  return Date.parse(headers.get('date') ?? '') || Date.now();
}
