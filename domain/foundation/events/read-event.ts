import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { notFound } from '#domain/foundation/kernel/errors.ts';
import { viewEvents, type StoredEvent, type EventView } from './event-view.ts';

/** @throws `missing_permission`; `event_not_found`, also for another tenant's event and after retention */
export async function readEvent(ctx: Context, { eventId }: { eventId: string }): Promise<EventView> {
  authorize(ctx.caller, 'events.read');
  const [row] = await ctx.em.execute<{ event: StoredEvent | null }[]>(
    'select app.read_event(?, ?) as event',
    [ctx.caller.tenantId, eventId],
  );
  const [view] = row?.event == null ? [] : await viewEvents(ctx, [row.event]);
  if (view === undefined) {
    throw notFound('event_not_found');
  }
  return view;
}
