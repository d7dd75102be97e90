import type { EntityManager } from '@mikro-orm/postgresql';
import { estimateStored } from './input-files.ts';

/** Gives the child all that the parent was given and has put out. @returns the first free position */
export async function copyContext(em: EntityManager, parentId: string, childId: string): Promise<number> {
  const copied = await em.execute(
    `insert into response_context (tenant_id, response_id, position, item_id)
     select tenant_id, ?, row_number() over (order by part, position) - 1, item_id from (
       select tenant_id, 0 as part, position, item_id from response_context where response_id = ?
       union all
       select tenant_id, 1, output_index, id from items
         where response_id = ? and output_index is not null and superseded_by is null) as given
     returning position`,
    [childId, parentId, parentId],
  );
  return copied.length;
}

/** Calls that the caller was to run and whose output nobody has given. */
export async function unansweredCalls(em: EntityManager, responseId: string): Promise<string[]> {
  const rows = await em.execute<{ call_id: string }[]>(
    `select i.exchange ->> 'call_id' as call_id
       from response_context c join items i on i.tenant_id = c.tenant_id and i.id = c.item_id
       where c.response_id = ? and i.type = 'function_call'`,
    [responseId],
  );
  return rows.map((row) => row.call_id);
}

/** Whether a response's context is longer than its model takes, by estimate. */
export async function exceeds(
  em: EntityManager,
  responseId: string,
  contextWindow: number,
): Promise<boolean> {
  const rows = await em.execute<{ text: string }[]>(
    `select i.wire || coalesce(i.exchange ->> 'result', '') as text from response_context c join items i on i.tenant_id = c.tenant_id and i.id = c.item_id
       where c.response_id = ?`,
    [responseId],
  );
  return rows.reduce((sum, row) => sum + estimateStored(row.text), 0) > contextWindow;
}
