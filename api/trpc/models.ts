import {
  listedModelEnvelope,
  modelEnvelope,
  modelPage,
  priceEnvelope,
  priceImport,
  priceList,
} from '#api/contract/administration.ts';
import * as inputs from '#api/contract/procedures.ts';
import { presentListedModel, presentModel, presentPrice, presentUsd } from '#api/present/administration.ts';
import { toModelSettings, toPriceInput } from '#api/present/model-input.ts';
import { toPage } from '#api/present/page.ts';
import { disableModel } from '#domain/capabilities/models/disable-model.ts';
import { readModel } from '#domain/capabilities/models/find-model.ts';
import { importPrices } from '#domain/capabilities/models/import-prices.ts';
import { listModels } from '#domain/capabilities/models/list-models.ts';
import { listPrices } from '#domain/capabilities/models/list-prices.ts';
import { registerModel } from '#domain/capabilities/models/register-model.ts';
import { setPrice } from '#domain/capabilities/models/set-price.ts';
import { updateModel } from '#domain/capabilities/models/update-model.ts';
import { inTenantOf } from './acting.ts';
import { procedure, reads, router } from './trpc.ts';

export const models = router({
  list: procedure({ permission: 'models.read', audit: reads })
    .input(inputs.listModelsInput)
    .output(modelPage)
    .query(async ({ ctx, input: { tenant_id: tenantId, limit, cursor } }) => {
      const page = await inTenantOf(ctx, tenantId, (work) =>
        listModels(work, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentListedModel) });
    }),

  get: procedure({ permission: 'models.read', audit: reads })
    .input(inputs.modelInput)
    .output(listedModelEnvelope)
    .query(async ({ ctx, input: { tenant_id: tenantId, alias } }) => ({
      data: presentListedModel(await inTenantOf(ctx, tenantId, (work) => readModel(work, { alias }))),
    })),

  add: procedure({ permission: 'models.manage', audit: ['system.model_added'] })
    .input(inputs.addModelInput)
    .output(modelEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { model } = await request.inContext(null, (ctx) =>
        registerModel(ctx, {
          alias: input.alias,
          providerKind: input.provider_kind,
          providerModel: input.provider_model,
          ...toModelSettings(input),
          price: toPriceInput(input.price),
        }),
      );
      return { data: presentModel(model) };
    }),

  update: procedure({ permission: 'models.manage', audit: ['system.model_updated'] })
    .input(inputs.updateModelInput)
    .output(modelEnvelope)
    .mutation(async ({ ctx: { request }, input }) => ({
      data: presentModel(
        await request.inContext(null, (ctx) =>
          updateModel(ctx, { alias: input.alias, ...toModelSettings(input) }),
        ),
      ),
    })),

  disable: procedure({
    permission: 'models.manage',
    audit: ['system.model_removed', 'system.model_updated'],
  })
    .input(inputs.disableModelInput)
    .output(modelEnvelope)
    .mutation(async ({ ctx: { request }, input }) => ({
      data: presentModel(await request.inContext(null, (ctx) => disableModel(ctx, input))),
    })),
});

export const prices = router({
  list: procedure({ permission: 'models.read', audit: reads })
    .input(inputs.modelInput)
    .output(priceList)
    .query(async ({ ctx, input: { tenant_id: tenantId, alias } }) => {
      const found = await inTenantOf(ctx, tenantId, (work) => listPrices(work, { alias }));
      return { data: found.map(presentPrice) };
    }),

  set: procedure({ permission: 'prices.manage', audit: ['system.model_updated'] })
    .input(inputs.setPriceInput)
    .output(priceEnvelope)
    .mutation(async ({ ctx, input }) => {
      const { tenant_id: tenantId, alias, price, valid_from: from } = input;
      const validFrom = from == null ? null : new Date(from);
      const row = await inTenantOf(ctx, tenantId, (work) =>
        setPrice(work, { alias, price: toPriceInput(price), validFrom }),
      );
      return { data: presentPrice(row) };
    }),

  import: procedure({ permission: 'prices.manage', audit: ['system.model_updated'] })
    .input(inputs.importPricesInput)
    .output(priceImport)
    .mutation(async ({ ctx, input: { tenant_id: tenantId, document, dry_run: dryRun } }) => {
      const report = await inTenantOf(ctx, tenantId, (work) => importPrices(work, { document, dryRun }));
      const imported = report.imported.map(({ alias, providerModel, price }) => ({
        alias,
        provider_model: providerModel,
        usd_per_million: presentUsd(price),
      }));
      const skipped = report.skipped.map(({ alias, providerModel, reason }) => ({
        alias,
        provider_model: providerModel,
        reason,
      }));
      return { data: { imported, skipped } };
    }),
});
