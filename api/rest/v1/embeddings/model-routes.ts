import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/embeddings.ts';
import { createHeaders, listQuery } from '#api/contract/knowledge.ts';
import { presentEmbeddingModel } from '#api/present/embeddings.ts';
import { toChanges, toNewEmbeddingModel } from '#api/present/embedding-input.ts';
import { toPage } from '#api/present/page.ts';
import { readEmbeddingModel } from '#domain/knowledge/embeddings/find-embedding-model.ts';
import { listEmbeddingModels } from '#domain/knowledge/embeddings/list-embedding-models.ts';
import { registerEmbeddingModel } from '#domain/knowledge/embeddings/register-embedding-model.ts';
import { updateEmbeddingModel } from '#domain/knowledge/embeddings/update-embedding-model.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Embedding models'];
const reads = { none: 'reads' };
const all = '/admin/embedding-models';
const one = '/admin/embedding-models/:embedding_model_id';

export async function embeddingModelRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    all,
    {
      config: { permission: 'models.manage', audit: ['system.model_added'] },
      schema: {
        tags,
        operationId: 'addEmbeddingModel',
        summary: 'Add an embedding model',
        description: 'Each tenant has the builtin one. What vectors depend on never changes afterwards.',
        headers: createHeaders,
        body: contract.addEmbeddingModelBody,
        response: {
          200: contract.embeddingModelEnvelope,
          201: contract.embeddingModelEnvelope,
          ...errorResponses,
        },
      },
    },
    async (request, reply) => {
      const { headers, body } = request;
      const { model, replayed } = await request.inContext(null, (ctx) =>
        registerEmbeddingModel(ctx, {
          ...toNewEmbeddingModel(body),
          idempotency: idempotencyOf(headers['idempotency-key'], `/v1${all}`, body),
        }),
      );
      markCreated(reply, replayed);
      return { data: presentEmbeddingModel(model) };
    },
  );

  app.get(
    all,
    {
      config: { permission: 'models.read', audit: reads },
      schema: {
        tags,
        operationId: 'listEmbeddingModels',
        summary: 'List the embedding models of the tenant, newest first',
        querystring: listQuery,
        response: { 200: contract.embeddingModelPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(null, (ctx) =>
        listEmbeddingModels(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentEmbeddingModel) });
    },
  );

  app.get(
    one,
    {
      config: { permission: 'models.read', audit: reads },
      schema: {
        tags,
        operationId: 'getEmbeddingModel',
        summary: 'Read an embedding model',
        params: contract.embeddingModelParams,
        response: { 200: contract.embeddingModelEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { embedding_model_id: id } = request.params;
      const model = await request.inContext(null, (ctx) => readEmbeddingModel(ctx, id));
      return { data: presentEmbeddingModel(model) };
    },
  );

  app.patch(
    one,
    {
      config: { permission: 'models.manage', audit: ['system.model_updated', 'system.model_removed'] },
      schema: {
        tags,
        operationId: 'updateEmbeddingModel',
        summary: 'Change the connection or the price of an embedding model, or withdraw it',
        params: contract.embeddingModelParams,
        body: contract.updateEmbeddingModelBody,
        response: { 200: contract.embeddingModelEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { embedding_model_id: id } = request.params;
      const model = await request.inContext(null, (ctx) =>
        updateEmbeddingModel(ctx, { id, ...toChanges(request.body) }),
      );
      return { data: presentEmbeddingModel(model) };
    },
  );
}
