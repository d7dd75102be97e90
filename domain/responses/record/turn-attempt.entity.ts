import { defineEntity } from '@mikro-orm/core';

const schema = defineEntity({
  name: 'TurnAttempt',
  tableName: 'turn_attempts',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    responseId: p.text().primary(),
    iteration: p.integer().primary(),
    attempt: p.integer().primary(),
    epoch: p.integer(),
    outcome: p
      .text()
      .$type<'running' | 'committed' | 'vendor_failed' | 'crashed' | 'aborted'>()
      .default('running'),
    failureCode: p.text().nullable(),
    firstN: p.integer(),
    prefixLength: p.integer().default(0),
    continuation: p.text().nullable(),
    runId: p.text().nullable(),
    startedAt: p.datetime().defaultRaw('now()'),
    endedAt: p.datetime().nullable(),
  }),
});

export class TurnAttempt extends schema.class {}
schema.setClass(TurnAttempt);
