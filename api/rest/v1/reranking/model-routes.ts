import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/reranking.ts';
import { createHeaders, listQuery } from '#api/contract/knowledge.ts';
import { presentRerankingModel, toNewRerankingModel, toRerankingChanges } from '#api/present/reranking.ts';
import { toPage } from '#api/present/page.ts';
import { readRerankingModel } from '#domain/knowledge/reranking/find-reranking-model.ts';
import { listRerankingModels } from '#domain/knowledge/reranking/list-reranking-models.ts';
import { registerRerankingModel } from '#domain/knowledge/reranking/register-reranking-model.ts';
import { updateRerankingModel } from '#domain/knowledge/reranking/update-reranking-model.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Reranking models'];
const reads = { none: 'reads' };
const all = '/admin/reranking-models';
const one = '/admin/reranking-models/:reranking_model_id';

export async function rerankingModelRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    all,
    {
      config: { permission: 'models.manage', audit: ['system.model_added'] },
      schema: {
        tags,
        operationId: 'addRerankingModel',
        summary: 'Add a reranking model',
        description: 'No search uses it before a space has chosen it.',
        headers: createHeaders,
        body: contract.addRerankingModelBody,
        response: {
          200: contract.rerankingModelEnvelope,
          201: contract.rerankingModelEnvelope,
          ...errorResponses,
        },
      },
    },
    async (request, reply) => {
      const { headers, body } = request;
      const { model, replayed } = await request.inContext(null, (ctx) =>
        registerRerankingModel(ctx, {
          ...toNewRerankingModel(body),
          idempotency: idempotencyOf(headers['idempotency-key'], `/v1${all}`, body),
        }),
      );
      markCreated(reply, replayed);
      return { data: presentRerankingModel(model) };
    },
  );

  app.get(
    all,
    {
      config: { permission: 'models.read', audit: reads },
      schema: {
        tags,
        operationId: 'listRerankingModels',
        summary: 'List the reranking models of the tenant, newest first',
        querystring: listQuery,
        response: { 200: contract.rerankingModelPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(null, (ctx) =>
        listRerankingModels(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentRerankingModel) });
    },
  );

  app.get(
    one,
    {
      config: { permission: 'models.read', audit: reads },
      schema: {
        tags,
        operationId: 'getRerankingModel',
        summary: 'Read a reranking model',
        params: contract.rerankingModelParams,
        response: { 200: contract.rerankingModelEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { reranking_model_id: id } = request.params;
      const model = await request.inContext(null, (ctx) => readRerankingModel(ctx, id));
      return { data: presentRerankingModel(model) };
    },
  );

  app.patch(
    one,
    {
      config: { permission: 'models.manage', audit: ['system.model_updated', 'system.model_removed'] },
      schema: {
        tags,
        operationId: 'updateRerankingModel',
        summary: 'Change the connection, the scores or the prices of a reranking model, or withdraw it',
        params: contract.rerankingModelParams,
        body: contract.updateRerankingModelBody,
        response: { 200: contract.rerankingModelEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { reranking_model_id: id } = request.params;
      const model = await request.inContext(null, (ctx) =>
        updateRerankingModel(ctx, { id, ...toRerankingChanges(request.body) }),
      );
      return { data: presentRerankingModel(model) };
    },
  );
}
