import type { EntityManager } from '@mikro-orm/postgresql';
import { fitting } from '#domain/foundation/persistence/page-bytes.ts';
import type { Item } from '#domain/responses/record/output-items.ts';

export interface InputPage {
  responseId: string;
  /** The page begins after this place; null: at the beginning. */
  after: number | null;
  order: 'asc' | 'desc';
  limit: number;
}

/** A page of a response's input items, with the last place in it. Sizes are read first, since an item may be a file. */
export async function readInputPage(
  em: EntityManager,
  { responseId, after, order, limit }: InputPage,
): Promise<{ items: Item[]; last: number | null; hasMore: boolean }> {
  const rows = await em.execute<{ position: number; bytes: number }[]>(
    `select c.position, octet_length(i.wire) as bytes
       from response_context c join items i on i.tenant_id = c.tenant_id and i.id = c.item_id
       where c.response_id = ? and (?::integer is null or c.position ${order === 'asc' ? '>' : '<'} ?::integer)
       order by c.position ${order} limit ?`,
    [responseId, after, after, limit + 1],
  );
  const shown = fitting(rows.slice(0, limit)).map(({ position }) => position);
  const items = await em.execute<{ wire: string }[]>(
    `select i.wire from response_context c join items i on i.tenant_id = c.tenant_id and i.id = c.item_id
       where c.response_id = ? and c.position in (select jsonb_array_elements_text(?::jsonb)::integer)
       order by c.position ${order}`,
    [responseId, JSON.stringify(shown)],
  );
  return {
    items: items.map(({ wire }) => JSON.parse(wire) as Item),
    last: shown.at(-1) ?? null,
    hasMore: rows.length > shown.length,
  };
}
