import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ModelPrice',
  tableName: 'model_prices',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    modelId: p.uuid(),
    validFrom: p.datetime().defaultRaw('now()'),
    inputMicroUsdPerMillion: p.bigint(),
    cachedInputMicroUsdPerMillion: p.bigint(),
    outputMicroUsdPerMillion: p.bigint(),
  }),
});

export class ModelPrice extends schema.class {}
schema.setClass(ModelPrice);
