import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'Role',
  tableName: 'roles',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    key: p.text(),
    name: p.text(),
    description: p.text().nullable(),
    permissions: p.array().default([]),
    createdAt: p.datetime().defaultRaw('now()'),
  }),
});

export class Role extends schema.class {}
schema.setClass(Role);
