import { defineEntity } from '@mikro-orm/core';
import type { ToolExchange } from './output-items.ts';
import type { ProviderState } from './provider-state.ts';

const schema = defineEntity({
  name: 'Item',
  tableName: 'items',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.text().primary(),
    responseId: p.text(),
    outputIndex: p.integer().nullable(),
    type: p.text(),
    wire: p.text(),
    exchange: p.json<ToolExchange>().nullable(),
    providerState: p.json<ProviderState>().nullable(),
    supersededBy: p.text().nullable(),
    answeredBy: p.text().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
  }),
});

export class Item extends schema.class {}
schema.setClass(Item);
