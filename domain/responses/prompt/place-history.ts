import type { EntityManager } from '@mikro-orm/postgresql';
import { estimateTokens } from '#domain/foundation/kernel/estimate-tokens.ts';
import { waitingPosition } from './context-snapshot.ts';
import { threadItemId } from '#domain/responses/record/item-ids.ts';
import type { InputMessage } from '#domain/responses/record/output-items.ts';
import type { Response } from '#domain/responses/record/response.entity.ts';
import { lineOf } from '#domain/conversations/threads/thread-branches.ts';
import type { MessageRole } from '#domain/conversations/threads/thread-status.ts';

/** Max messages of a thread in a prompt. */
const maxMessages = 200;
/** Bounds what is fetched. Few texts have as many bytes per token: white space, mostly. */
const maxBytesPerToken = 64;

/**
 * Gives a response the newest messages of its branch that, with its own input, fit into three quarters of the model's
 * context window. @returns the first free position of its context
 */
export async function placeHistory(
  em: EntityManager,
  response: Response,
  { asked, contextWindow }: { asked: readonly string[]; contextWindow: number },
): Promise<number> {
  if (response.threadId == null) {
    return 0;
  }
  const askedTokens = asked.reduce((sum, text) => sum + estimateTokens(text), 0);
  const budget = Math.max(0, contextWindow * 0.75 - askedTokens);
  const newest = (await newestMessages(em, response, Math.floor(budget * maxBytesPerToken))).map(toItem);
  let left = budget;
  const fitting = newest.findIndex(({ wire }) => (left -= estimateTokens(wire)) < 0);
  const items = newest.slice(0, fitting === -1 ? undefined : fitting).toReversed();
  // One item for each message, however many responses include it: a repeated insert only locks the item.
  await em.execute(
    `with given as (
       select * from jsonb_to_recordset(?::jsonb) as g (id text, wire text)),
     kept as (
       insert into items (tenant_id, id, response_id, type, wire) select ?, g.id, ?, 'message', g.wire from given g
       on conflict (tenant_id, id) do update set created_at = items.created_at returning id)
     select count(*) from kept`,
    [JSON.stringify(items), response.tenantId, response.id],
  );
  await em.execute(
    `insert into response_context (tenant_id, response_id, position, item_id)
     select ?, ?, given.place - 1, given.id from jsonb_array_elements_text(?::jsonb) with ordinality as given (id, place)`,
    [response.tenantId, response.id, JSON.stringify(items.map(({ id }) => id))],
  );
  return items.length;
}

interface PlacedMessage {
  id: string;
  role: MessageRole;
  content: string;
}

function toItem({ id, role, content }: PlacedMessage): { id: string; wire: string } {
  const type = role === 'assistant' ? ('output_text' as const) : ('input_text' as const);
  const wire: InputMessage = {
    id: threadItemId(id),
    type: 'message',
    status: 'completed',
    role,
    content: [{ type, text: content }],
  };
  return { id: wire.id, wire: JSON.stringify(wire) };
}

/**
 * The newest first. A question is placed with its answer, although other blocked responses were accepted in between.
 * Excludes messages of responses that have not ended, and questions already placed in front of the response's own
 * input.
 */
function newestMessages(
  em: EntityManager,
  { id, threadId, branchId }: Response,
  maxBytes: number,
): Promise<PlacedMessage[]> {
  return em.execute<PlacedMessage[]>(
    `${lineOf},
     newest as (
       select m.* from line l cross join lateral (
         select m.* from messages m
         where m.tenant_id = l.tenant_id and m.thread_id = l.thread_id and m.branch_id = l.id
           and m.position <= l.upto
           and (m.response_id is null or not (
             exists (select from responses r
               where r.tenant_id = m.tenant_id and r.id = m.response_id and r.finished_at is null)
             or exists (select from response_context c
                 join items i on i.tenant_id = c.tenant_id and i.id = c.item_id
                 left join responses r on r.tenant_id = i.tenant_id and r.id = i.response_id
               where c.tenant_id = m.tenant_id and c.response_id = ? and c.position < ?
                 and i.response_id = m.response_id and (r.id is null or r.waits_for is not null or r.history_due))))
         order by m.position desc limit ?) m
       order by m.position desc limit ?),
     measured as (
       select n.*, sum(octet_length(n.content)) over (order by n.position desc) as bytes from newest n)
     select n.id, n.role, n.content from measured n where n.bytes <= ?
     order by (select coalesce(min(q.position), n.position) from messages q
       where q.tenant_id = n.tenant_id and q.thread_id = n.thread_id and q.response_id = n.response_id) desc,
       n.position desc`,
    [threadId, branchId, id, waitingPosition, maxMessages, maxMessages, maxBytes],
  );
}
