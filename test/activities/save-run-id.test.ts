import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runTurn } from '#activities/responses/run-turn.ts';
import { StreamWriter } from '#activities/responses/stream-writer.ts';
import type { ModelGateway } from '#domain/capabilities/models/model-gateway.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { longTexts } from '../support/long-texts.ts';
import { noMetrics } from '../support/no-metrics.ts';
import { secrets } from '../support/world.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());

it('a database that fails once while the id of a vendor’s run is saved costs no second run', async () => {
  const responseId = await engine.create();
  const { database, unitOfWork } = engine.database;
  let runs = 0;
  const models: ModelGateway = {
    async *stream() {
      runs += 1;
      failing = true;
      yield { type: 'run', id: `run_${runs}` };
      yield { type: 'text', text: 'Whole.' };
      yield { type: 'finish', reason: 'stop', usage: null };
    },
  };
  let failing = false;
  const once: typeof unitOfWork.inTenant = (...given) => {
    const fails = failing;
    failing = false;
    return fails
      ? Promise.reject(Object.assign(new Error('shutdown'), { code: '57P01' }))
      : unitOfWork.inTenant(...given);
  };
  const failingOnce = Object.assign(Object.create(unitOfWork) as typeof unitOfWork, { inTenant: once });
  const names = { find: () => Promise.reject(new Error('It is never asked.')) };
  const writer = new StreamWriter(database);
  const deps = { database, unitOfWork: failingOnce, secrets, names, longTexts, models, writer };
  const key = { tenantId: engine.world.tenantId, responseId, iteration: 0 };
  await new MockActivityEnvironment().run(() => runTurn({ ...deps, metrics: noMetrics }, key));
  expect(runs).toBe(1);
  const { rows } = await engine.admin.query('select run_id, outcome from turn_attempts');
  expect(rows).toEqual([{ run_id: 'run_1', outcome: 'committed' }]);
});
