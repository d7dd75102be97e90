import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { listQuery } from '#api/contract/access.ts';
import { modelPage } from '#api/contract/administration.ts';
import { errorResponses } from '#api/contract/common.ts';
import { presentModel, presentUsd } from '#api/present/administration.ts';
import { toPage } from '#api/present/page.ts';
import { listModels } from '#domain/models/list-models.ts';

const tags = ['Models'];
const reads = { none: 'reads' };

export async function modelRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.get(
    '/models',
    {
      config: { permission: 'models.read', audit: reads },
      schema: {
        tags,
        operationId: 'listModels',
        summary: 'List the tenant’s models, newest first',
        querystring: listQuery,
        response: { 200: modelPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(null, (ctx) => listModels(ctx, { limit, cursor: cursor ?? null }));
      const items = page.items.map(({ model, price }) => ({
        ...presentModel(model),
        price_usd_per_million: presentUsd(price),
      }));
      return toPage({ ...page, items });
    },
  );
}
