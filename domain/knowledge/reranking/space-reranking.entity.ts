import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'SpaceReranking',
  tableName: 'space_reranking',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    spaceId: p.uuid().primary(),
    modelId: p.uuid(),
    /** Whether searches that do not ask for it are reranked. */
    byDefault: p.boolean().default(true),
    chosenAt: p.datetime().defaultRaw('now()'),
  }),
});

/** The reranking model that a space has chosen. */
export class SpaceReranking extends schema.class {}
schema.setClass(SpaceReranking);
