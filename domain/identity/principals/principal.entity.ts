import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'Principal',
  tableName: 'principals',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    type: p.text().$type<'user' | 'service_account' | 'agent'>(),
    name: p.text().nullable(),
    email: p.text().nullable(),
    /** Both under the principal's own key; see `sealPrincipal`. */
    sealedName: p.text().nullable(),
    sealedEmail: p.text().nullable(),
    status: p.text().$type<'active' | 'disabled'>().default('active'),
    createdAt: p.datetime().defaultRaw('now()'),
    deletedAt: p.datetime().nullable(),
  }),
});

export class Principal extends schema.class {}
schema.setClass(Principal);
