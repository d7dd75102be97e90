import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'UsageEntry',
  tableName: 'usage_ledger',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    responseId: p.text().primary(),
    iteration: p.integer().primary(),
    attempt: p.integer().primary(),
    kind: p.text().$type<'attempt' | 'adjustment'>().default('attempt').primary(),
    spaceId: p.uuid(),
    principalId: p.uuid(),
    modelId: p.uuid(),
    priceId: p.uuid(),
    inputTokens: p.bigint('number').default(0),
    cachedInputTokens: p.bigint('number').default(0),
    outputTokens: p.bigint('number').default(0),
    reasoningTokens: p.bigint('number').default(0),
    costPicoUsd: p.bigint().defaultRaw('0'),
    settled: p.boolean().default(false),
    estimated: p.boolean().default(false),
    aborted: p.boolean().default(false),
    createdAt: p.datetime().defaultRaw('now()'),
  }),
});

export class UsageEntry extends schema.class {}
schema.setClass(UsageEntry);
