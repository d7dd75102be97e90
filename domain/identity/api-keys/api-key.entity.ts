import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'ApiKey',
  tableName: 'api_keys',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    keyId: p.text(),
    secretHash: p.text(),
    principalId: p.uuid(),
    name: p.text(),
    permissions: p.array().nullable(),
    makers: p.array().defaultRaw(`'{}'`),
    expiresAt: p.datetime(),
    revokedAt: p.datetime().nullable(),
    lastUsedAt: p.datetime().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
  }),
});

export class ApiKey extends schema.class {}
schema.setClass(ApiKey);
