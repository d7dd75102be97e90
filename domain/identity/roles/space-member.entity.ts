import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'SpaceMember',
  tableName: 'space_members',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    spaceId: p.uuid().primary(),
    principalId: p.uuid().primary(),
    id: p.uuid().defaultRaw('gen_random_uuid()'),
    roleKey: p.text().default('space_member'),
    createdAt: p.datetime().defaultRaw('now()'),
  }),
});

export class SpaceMember extends schema.class {}
schema.setClass(SpaceMember);
