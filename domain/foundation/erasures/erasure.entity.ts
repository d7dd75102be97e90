import { defineEntity } from '@mikro-orm/core';
import type { RootType } from '#domain/foundation/durable/workflow-inputs.ts';

const schema = defineEntity({
  name: 'Erasure',
  tableName: 'erasures',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    rootType: p.text().$type<RootType>().primary(),
    rootId: p.uuid().primary(),
    requestedAt: p.datetime().defaultRaw('now()'),
    endedAt: p.datetime().nullable(),
    /** Rows of each table that were erased. */
    erased: p.json<Record<string, number>>().defaultRaw("'{}'"),
  }),
});

/** The record of a deletion: of what is erased after its answer, and at its end of what was erased. */
export class Erasure extends schema.class {}
schema.setClass(Erasure);
