import type { EntityManager } from '@mikro-orm/postgresql';
import { estimateStored } from '#domain/responses/store/input-files.ts';
import type { InputMessage } from '#domain/responses/record/output-items.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';

/** Position of the input of a response that is blocked: after all context that is still to come. */
export const waitingPosition = 1_000_000;

/** Copies the parent's context and output into the child's context. @returns the first free position */
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
 * The same for a child that waited for its parent's end. If the parent never received its own context, its input is
 * put in front of the child's input, and the rest is still to come.
 * @returns false if the rest can never come: only a response of a branch receives the branch's history
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
 * Max bytes of a context. Files count few tokens for their size, and one item may be referenced often, so tokens
 * alone would let a short request exceed a process's memory; vendors accept no more either.
 */
const maxContextBytes = 32 * 1024 * 1024;

/** Whether new messages alone exceed the context window, by estimate. */
export function isTooLong(messages: readonly { wire: string }[], contextWindow: number): boolean {
  const bytes = messages.reduce((sum, { wire }) => sum + Buffer.byteLength(wire), 0);
  return (
    bytes > maxContextBytes ||
    messages.reduce((sum, { wire }) => sum + estimateStored(wire), 0) > contextWindow
  );
}

/** The text of an item; some types contain the result in their wire form already. */
const shownText = `i.wire || case when i.type in ('mcp_call', 'function_call_output') then ''
    else coalesce(i.exchange ->> 'result', '') end`;
const given = `response_context c join items i on i.tenant_id = c.tenant_id and i.id = c.item_id
    where c.response_id = ?`;

/** Whether a response's context exceeds the context window, by estimate. */
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
  if ((size?.bytes ?? 0) > maxContextBytes) {
    return true;
  }
  const rows = await em.execute<{ text: string }[]>(`select ${shownText} as text from ${given}`, [
    responseId,
  ]);
  return rows.reduce((sum, row) => sum + estimateStored(row.text), 0) > contextWindow;
}

/** The texts of the messages in a response's context so far. */
export async function messageTexts(em: EntityManager, responseId: string): Promise<string[]> {
  const rows = await em.execute<{ wire: string }[]>(`select i.wire from ${given} and i.type = 'message'`, [
    responseId,
  ]);
  return rows.flatMap(({ wire }) =>
    (JSON.parse(wire) as InputMessage).content.flatMap((part) => ('text' in part ? [part.text] : [])),
  );
}
