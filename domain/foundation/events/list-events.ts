import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { decodeCursor, encodeCursor, type Page } from '#domain/foundation/kernel/page.ts';
import type { EventCategory, ResourceType } from './catalogue.ts';
import { viewEvents, type StoredEvent, type EventView } from './event-view.ts';

export interface EventFilters {
  category: EventCategory | null;
  resourceType: ResourceType | null;
  resourceId: string | null;
  /** ISO 8601; both inclusive. */
  fromDate: string | null;
  toDate: string | null;
}

export interface ListEvents extends EventFilters {
  limit: number;
  cursor: string | null;
}

export type EventCounts = Record<EventCategory | 'all', number>;

/**
 * A page of the tenant's events, newest first, with exact counts by category under the other filters. The cost does
 * not depend on the size of the log. @throws `missing_permission`, `invalid_cursor`
 */
export async function listEvents(
  ctx: Context,
  input: ListEvents,
): Promise<Page<EventView> & { counts: EventCounts }> {
  authorize(ctx.caller, 'events.read');
  return pageOfEvents(ctx, 'events.list', input);
}

/** Like `listEvents`, without the permission check. @param operation names the list in its cursors */
export async function pageOfEvents(
  ctx: Context,
  operation: string,
  { limit, cursor, ...filters }: ListEvents,
): Promise<Page<EventView> & { counts: EventCounts }> {
  const { tenantId } = ctx.caller;
  const scope = { tenantId, operation, filters: { ...filters } };
  const after = cursor === null ? null : decodeCursor(ctx.secrets, scope, cursor);
  const [row] = await ctx.em.execute<{ page: StoredEvent[]; counts: (number | string)[] }[]>(
    `select page, counts from app.list_events(?, ?, ?, ?, ?, ?, ?,
       -- inclusive, and creation is known to the millisecond
       date_trunc('milliseconds', ?::timestamptz) + interval '1 millisecond')`,
    [
      tenantId,
      limit + 1,
      after?.id ?? null,
      filters.category,
      filters.resourceType,
      filters.resourceId,
      filters.fromDate,
      filters.toDate,
    ],
  );
  const [space = 0, collection = 0, security = 0, system = 0] = (row?.counts ?? []).map(Number);
  const rows = row?.page ?? [];
  const items = await viewEvents(ctx, rows.slice(0, limit));
  const last = items.at(-1);
  const nextCursor =
    last === undefined || rows.length <= limit
      ? null
      : encodeCursor(ctx.secrets, scope, { createdAt: last.createdAt.toISOString(), id: last.id });
  const all = space + collection + security + system;
  return { items, nextCursor, counts: { space, collection, security, system, all } };
}
