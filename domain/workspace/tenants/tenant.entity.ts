import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'Tenant',
  tableName: 'tenants',
  properties: (p) => ({
    id: p.uuid().primary().fieldName('tenant_id'),
    slug: p.text(),
    name: p.text(),
    status: p.text().default('active'),
    isPlatform: p.boolean().default(false),
    createdAt: p.datetime().defaultRaw('now()'),
  }),
});

export class Tenant extends schema.class {}
schema.setClass(Tenant);
