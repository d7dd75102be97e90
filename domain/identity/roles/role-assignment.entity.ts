import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'RoleAssignment',
  tableName: 'role_assignments',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    principalId: p.uuid().primary(),
    roleKey: p.text().primary(),
    createdAt: p.datetime().defaultRaw('now()'),
  }),
});

export class RoleAssignment extends schema.class {}
schema.setClass(RoleAssignment);
