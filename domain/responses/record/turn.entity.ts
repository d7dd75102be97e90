import { defineEntity } from '@mikro-orm/core';
import type { TurnResult } from './turn-result.ts';

const schema = defineEntity({
  name: 'Turn',
  tableName: 'turns',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    responseId: p.text().primary(),
    iteration: p.integer().primary(),
    status: p.text().$type<'open' | 'committed'>().default('open'),
    firstN: p.integer(),
    firstOutputIndex: p.integer(),
    result: p.json<TurnResult>().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
    committedAt: p.datetime().nullable(),
  }),
});

export class Turn extends schema.class {}
schema.setClass(Turn);
