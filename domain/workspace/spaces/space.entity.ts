import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'Space',
  tableName: 'spaces',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    name: p.text(),
    defaultModelId: p.uuid().nullable(),
    policy: p.json<Record<string, unknown>>().defaultRaw("'{}'"),
    /** Whether its responses are traced: true when it has an observability configuration. */
    traced: p.boolean().default(false),
    createdAt: p.datetime().defaultRaw('now()'),
    updatedAt: p.datetime().defaultRaw('now()'),
    /** Its rows are being erased; only the purge role sees it. */
    deletedAt: p.datetime().nullable(),
  }),
});

export class Space extends schema.class {}
schema.setClass(Space);
