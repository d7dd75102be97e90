import type { z } from 'zod';
import type { SourceAccess } from '../provider.ts';
import { JsonApi, type Answer } from '../shared/json-api.ts';
import { withoutSlashes } from '../shared/web-url.ts';
import { notionFailure } from './failure.ts';
import type { NotionScope } from './scope.ts';
import * as wire from './wire.ts';

/** With data sources, and `in_trash` in place of `archived`. */
const version = '2026-03-11';
const pageSize = 100;
/** Of blocks, which are read for several documents at a time. */
const maxBlocksBytes = 4 * 1_048_576;

/** What pages stand in, as the addresses call it. */
export type ParentKind = 'pages' | 'blocks' | 'databases' | 'data_sources';

/** The requests to Notion. Ids become parts of paths: their form was checked before. */
export class NotionClient {
  readonly #api: JsonApi;

  constructor({ api_url: url }: NotionScope, access: SourceAccess) {
    this.#api = new JsonApi(access, {
      base: `${withoutSlashes(url)}/v1`,
      headers: { 'notion-version': version },
      failure: notionFailure,
    });
  }

  /** The user of the integration, whose id is another one for another integration. */
  user(signal: AbortSignal): Promise<Answer<{ id: string }>> {
    return this.#api.ask('/users/me', wire.user, { signal });
  }

  /**
   * The pages that are shared with the integration, those that were edited last before the others.
   * @param trashed only those in the trash; null: the service does not list them
   */
  search(
    { cursor, trashed }: { cursor: string | null; trashed: boolean },
    signal: AbortSignal,
  ): Promise<Answer<wire.SearchResults> | null> {
    const filter = { property: 'object', value: 'page', ...(trashed && { in_trash: true }) };
    const body = {
      filter,
      sort: { timestamp: 'last_edited_time', direction: 'descending' },
      page_size: pageSize,
      ...(cursor !== null && { start_cursor: cursor }),
    };
    // Of a later page, the service refuses the cursor.
    const absent = trashed && cursor === null ? [400] : [];
    return this.#api.seek('/search', wire.searchResults, { signal, body, absent });
  }

  /** Null: it does not exist, or is not shared with the integration. */
  page(id: string, signal: AbortSignal): Promise<Answer<wire.AnyPage> | null> {
    return this.#api.seek(`/pages/${id}`, wire.page, { signal, absent: [404] });
  }

  /**
   * A page of the blocks of a page or of a block.
   * @param absent statuses with which there are none that can be read
   */
  async children(
    { id, cursor, absent }: { id: string; cursor: string | null; absent: readonly number[] },
    signal: AbortSignal,
  ): Promise<z.output<typeof wire.blocks> | null> {
    const query = new URLSearchParams({ page_size: String(pageSize) });
    if (cursor !== null) {
      query.set('start_cursor', cursor);
    }
    const path = `/blocks/${id}/children?${query.toString()}`;
    return (
      (await this.#api.seek(path, wire.blocks, { signal, absent, maxBytes: maxBlocksBytes }))?.value ?? null
    );
  }

  /**
   * Where a page, a block or a database stands; null: that is not shown. The service answers 400 where the id is of
   * another kind.
   */
  async parentOf(kind: ParentKind, id: string, signal: AbortSignal): Promise<wire.Parent | 'absent' | null> {
    const answer = await this.#api.seek(`/${kind}/${id}`, wire.child, { signal, absent: [400, 404] });
    return answer === null ? 'absent' : (answer.value.parent ?? null);
  }
}
