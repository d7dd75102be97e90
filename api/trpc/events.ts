import * as contract from '#api/contract/events.ts';
import { presentEvent, toFilters } from '#api/present/events.ts';
import { toPage } from '#api/present/page.ts';
import { exportEvents } from '#domain/foundation/events/export-events.ts';
import { listEvents } from '#domain/foundation/events/list-events.ts';
import { readEvent } from '#domain/foundation/events/read-event.ts';
import { procedure, reads, router } from './trpc.ts';

export const events = router({
  list: procedure({ permission: 'events.read', audit: reads })
    .input(contract.listEventsInput)
    .output(contract.eventPage)
    .query(async ({ ctx: { request }, input: { limit, cursor, ...filters } }) => {
      const { counts, ...page } = await request.inContext(null, (ctx) =>
        listEvents(ctx, { limit, cursor: cursor ?? null, ...toFilters(filters) }),
      );
      return { ...toPage({ ...page, items: page.items.map(presentEvent) }), counts };
    }),

  get: procedure({ permission: 'events.read', audit: reads })
    .input(contract.eventInput)
    .output(contract.eventEnvelope)
    .query(async ({ ctx: { request }, input: { event_id: eventId } }) => ({
      data: presentEvent(await request.inContext(null, (ctx) => readEvent(ctx, { eventId }))),
    })),

  export: procedure({ permission: 'events.export', audit: ['security.events_exported'] })
    .input(contract.exportEventsInput)
    .output(contract.exportedEvents)
    .mutation(async ({ ctx: { request }, input: { limit, cursor, ...filters } }) => {
      const page = await request.inContext(null, (ctx) =>
        exportEvents(ctx, { limit, cursor: cursor ?? null, ...toFilters(filters) }),
      );
      return toPage({ ...page, items: page.items.map(presentEvent) });
    }),
});
