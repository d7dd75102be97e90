import { defineEntity } from '@mikro-orm/core';
import type { Continuation, InputModality, ProviderKind } from './model-gateway.ts';

const schema = defineEntity({
  name: 'Model',
  tableName: 'models',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    alias: p.text(),
    providerKind: p.text().$type<ProviderKind>(),
    providerModel: p.text(),
    baseUrl: p.text().nullable(),
    credentialRef: p.text().nullable(),
    credentialId: p.uuid().nullable(),
    continuation: p.text().$type<Continuation>(),
    supportsReasoning: p.boolean().default(false),
    inputModalities: p.json<InputModality[]>().defaultRaw(`'["text"]'`),
    contextWindow: p.integer(),
    maxOutputTokens: p.integer(),
    createdAt: p.datetime().defaultRaw('now()'),
    disabledAt: p.datetime().nullable(),
  }),
});

export class Model extends schema.class {}
schema.setClass(Model);
