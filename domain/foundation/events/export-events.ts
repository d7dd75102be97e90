import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import type { Page } from '#domain/foundation/kernel/page.ts';
import type { EventView } from './event-view.ts';
import { pageOfEvents, type ListEvents } from './list-events.ts';
import { recordEvent } from './record-event.ts';

/**
 * A larger page of the log, for archiving. Reading the first page records an event, and only its cursor leads to the
 * next pages, so every export is in the log. @throws `missing_permission`, `invalid_cursor`
 */
export async function exportEvents(ctx: Context, input: ListEvents): Promise<Page<EventView>> {
  authorize(ctx.caller, 'events.export');
  const { items, nextCursor } = await pageOfEvents(ctx, 'events.export', input);
  if (input.cursor === null) {
    const { category, resourceType, resourceId, fromDate, toDate } = input;
    await recordEvent(ctx.em, ctx.caller, {
      type: 'security.events_exported',
      resource: { type: 'tenant', id: ctx.caller.tenantId },
      metadata: {
        category,
        resource_type: resourceType,
        resource_id: resourceId,
        from_date: fromDate,
        to_date: toDate,
      },
    });
  }
  return { items, nextCursor };
}
