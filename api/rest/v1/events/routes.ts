import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/events.ts';
import { presentEvent, toFilters } from '#api/present/events.ts';
import { toPage } from '#api/present/page.ts';
import { listEvents } from '#domain/foundation/events/list-events.ts';
import { readEvent } from '#domain/foundation/events/read-event.ts';

const tags = ['Event log'];

export async function eventRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.get(
    '/events',
    {
      config: { permission: 'events.read', audit: { none: 'reads' } },
      schema: {
        tags,
        operationId: 'listEvents',
        summary: 'List the tenant’s events, newest first, with totals by category',
        querystring: contract.listEventsQuery,
        response: { 200: contract.eventPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor, ...filters } = request.query;
      const { counts, ...page } = await request.inContext(null, (ctx) =>
        listEvents(ctx, { limit, cursor: cursor ?? null, ...toFilters(filters) }),
      );
      return { ...toPage({ ...page, items: page.items.map(presentEvent) }), counts };
    },
  );

  app.get(
    '/events/:event_id',
    {
      config: { permission: 'events.read', audit: { none: 'reads' } },
      schema: {
        tags,
        operationId: 'getEvent',
        summary: 'Read an event',
        params: contract.eventParams,
        response: { 200: contract.eventEnvelope, ...errorResponses },
      },
    },
    async (request) => ({
      data: presentEvent(
        await request.inContext(null, (ctx) => readEvent(ctx, { eventId: request.params.event_id })),
      ),
    }),
  );
}
