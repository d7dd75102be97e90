import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { listedModelEnvelope, modelEnvelope, modelPage } from '#api/contract/administration.ts';
import { createHeaders, listQuery } from '#api/contract/knowledge.ts';
import { errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/models.ts';
import { presentListedModel, presentModel } from '#api/present/administration.ts';
import { toModelSettings, toPriceInput } from '#api/present/model-input.ts';
import { toPage } from '#api/present/page.ts';
import { disableModel } from '#domain/capabilities/models/disable-model.ts';
import { readModel } from '#domain/capabilities/models/find-model.ts';
import { listModels } from '#domain/capabilities/models/list-models.ts';
import { registerModel } from '#domain/capabilities/models/register-model.ts';
import { updateModel } from '#domain/capabilities/models/update-model.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Models'];
const reads = { none: 'reads' };
const all = '/admin/models';
const one = '/admin/models/:model_id';

export async function adminModelRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    all,
    {
      config: { permission: 'models.manage', audit: ['system.model_added'] },
      schema: {
        tags,
        operationId: 'addModel',
        summary: 'Add a model with its first price',
        description: 'Omitted fields take the provider’s defaults. An alias is unique.',
        headers: createHeaders,
        body: contract.addModelBody,
        response: { 200: modelEnvelope, 201: modelEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { headers, body } = request;
      const { model, replayed } = await request.inContext(null, (ctx) =>
        registerModel(ctx, {
          alias: body.alias,
          providerKind: body.provider_kind,
          providerModel: body.provider_model,
          ...toModelSettings(body),
          price: toPriceInput(body.price),
          idempotency: idempotencyOf(headers['idempotency-key'], `/v1${all}`, body),
        }),
      );
      markCreated(reply, replayed);
      return { data: presentModel(model) };
    },
  );

  app.get(
    all,
    {
      config: { permission: 'models.read', audit: reads },
      schema: {
        tags,
        operationId: 'listTenantModels',
        summary: 'List the models of the tenant, newest first',
        querystring: listQuery,
        response: { 200: modelPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(null, (ctx) => listModels(ctx, { limit, cursor: cursor ?? null }));
      return toPage({ ...page, items: page.items.map(presentListedModel) });
    },
  );

  app.get(
    one,
    {
      config: { permission: 'models.read', audit: reads },
      schema: {
        tags,
        operationId: 'getModel',
        summary: 'Read a model with its price',
        params: contract.modelParams,
        response: { 200: listedModelEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { model_id: modelId } = request.params;
      return {
        data: presentListedModel(await request.inContext(null, (ctx) => readModel(ctx, { modelId }))),
      };
    },
  );

  app.patch(
    one,
    {
      config: { permission: 'models.manage', audit: ['system.model_updated', 'system.model_removed'] },
      schema: {
        tags,
        operationId: 'updateModel',
        summary: 'Change the connection of a model, or withdraw it from new responses',
        params: contract.modelParams,
        body: contract.updateModelBody,
        response: { 200: modelEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { disabled, ...settings } = request.body;
      const { model_id: modelId } = request.params;
      const model = await request.inContext(null, async (ctx) => {
        const updated = await updateModel(ctx, { modelId, ...toModelSettings(settings) });
        return disabled === undefined ? updated : disableModel(ctx, { alias: updated.alias, disabled });
      });
      return { data: presentModel(model) };
    },
  );
}
