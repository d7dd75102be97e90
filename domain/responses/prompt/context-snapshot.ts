import type { EntityManager } from '@mikro-orm/postgresql';
import { estimateStored } from '#domain/responses/store/input-files.ts';
import type { InputMessage } from '#domain/responses/record/output-items.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';

/** Where the input of a response stands that waits for what comes before it. */
export const waitingPosition = 1_000_000;

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

/**
 * The same to one that waited for its parent's end. Of a parent that was never given what it goes on from, what it was
 * asked is put in front of what the child is, and the rest is still to come.
 * @returns false when that never comes: only a response of a branch is told what the branch holds
 */
export async function passContext(em: EntityManager, parent: Response, child: Response): Promise<boolean> {
  if (parent.contextFrom == null && !parent.historyDue) {
    await copyContext(em, parent.id, child.id);
    child.contextFrom = null;
    return true;
  }
  await em.execute(
    `insert into response_context (tenant_id, response_id, position, item_id)
     select tenant_id, ?, (select min(position) from response_context where response_id = ?)
       - row_number() over (order by position desc), item_id
     from response_context where response_id = ?`,
    [child.id, child.id, parent.id],
  );
  child.contextFrom = parent.contextFrom ?? null;
  child.historyDue = parent.historyDue;
  return !parent.historyDue || (child.threadId === parent.threadId && child.branchId === parent.branchId);
}

/**
 * Bytes of all that a model is told. Files count few tokens for their size, and one item may be referred to often, so
 * tokens alone would let a short request name more than a process can hold; vendors take no more either.
 */
const largestContextBytes = 32 * 1024 * 1024;

/** Whether new messages alone are longer than their model takes, by estimate. */
export function isTooLong(messages: readonly { wire: string }[], contextWindow: number): boolean {
  const bytes = messages.reduce((sum, { wire }) => sum + Buffer.byteLength(wire), 0);
  return (
    bytes > largestContextBytes ||
    messages.reduce((sum, { wire }) => sum + estimateStored(wire), 0) > contextWindow
  );
}

/** What an item says; the result of some stands in their wire form already. */
const shownText = `i.wire || case when i.type in ('mcp_call', 'function_call_output') then ''
    else coalesce(i.exchange ->> 'result', '') end`;
const given = `response_context c join items i on i.tenant_id = c.tenant_id and i.id = c.item_id
    where c.response_id = ?`;

/** Whether a response's context is longer than its model takes, by estimate. */
export async function exceeds(
  em: EntityManager,
  responseId: string,
  contextWindow: number,
): Promise<boolean> {
  const [size] = await em.execute<{ bytes: number }[]>(
    `select coalesce(sum(octet_length(i.wire) + coalesce(octet_length(i.exchange ->> 'result'), 0)), 0)::float8 as bytes
       from ${given}`,
    [responseId],
  );
  if ((size?.bytes ?? 0) > largestContextBytes) {
    return true;
  }
  const rows = await em.execute<{ text: string }[]>(`select ${shownText} as text from ${given}`, [
    responseId,
  ]);
  return rows.reduce((sum, row) => sum + estimateStored(row.text), 0) > contextWindow;
}

/** What the messages say that a response was given so far. */
export async function messageTexts(em: EntityManager, responseId: string): Promise<string[]> {
  const rows = await em.execute<{ wire: string }[]>(`select i.wire from ${given} and i.type = 'message'`, [
    responseId,
  ]);
  return rows.flatMap(({ wire }) =>
    (JSON.parse(wire) as InputMessage).content.flatMap((part) => ('text' in part ? [part.text] : [])),
  );
}
