import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'SpaceModel',
  tableName: 'space_models',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    spaceId: p.uuid().primary(),
    modelId: p.uuid().primary(),
  }),
});

export class SpaceModel extends schema.class {}
schema.setClass(SpaceModel);
