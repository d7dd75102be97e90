import { defineEntity } from '@mikro-orm/core';
import type { ProviderState } from './provider-state.ts';

const schema = defineEntity({
  name: 'ToolCall',
  tableName: 'tool_calls',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    responseId: p.text().primary(),
    iteration: p.integer().primary(),
    callIndex: p.integer().primary(),
    callId: p.text(),
    itemId: p.text(),
    outputIndex: p.integer(),
    tool: p.text(),
    serverLabel: p.text().nullable(),
    toolName: p.text().nullable(),
    schemaHash: p.text().nullable(),
    approvalRequestId: p.text().nullable(),
    arguments: p.text(),
    idempotencyKey: p.text(),
    firstLabel: p.integer().default(0),
    providerState: p.json<ProviderState>().nullable(),
    attempts: p.integer().default(0),
    claimNonce: p.uuid().nullable(),
    leasedUntil: p.datetime().nullable(),
    session: p.text().nullable(),
    sessionAt: p.datetime().nullable(),
    status: p.text().$type<'planned' | 'started' | 'done'>().default('planned'),
    outcome: p.text().$type<'succeeded' | 'failed' | 'denied' | 'unknown'>().nullable(),
    resultDigest: p.text().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
    startedAt: p.datetime().nullable(),
    doneAt: p.datetime().nullable(),
  }),
});

export class ToolCall extends schema.class {}
schema.setClass(ToolCall);
