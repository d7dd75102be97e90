import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { runTurn } from '#activities/responses/run-turn.ts';
import { StreamWriter } from '#activities/responses/stream-writer.ts';
import { ModelFailure, type ModelGateway } from '#domain/capabilities/models/model-gateway.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { longTexts } from '../support/long-texts.ts';
import { noMetrics } from '../support/no-metrics.ts';
import { secrets } from '../support/world.ts';

let engine: Engine;
/** The next transaction fails. */
let failing: boolean;
beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());
beforeEach(() => {
  failing = false;
});

/** One attempt at the first turn of a response. */
function attempt(responseId: string, stream: ModelGateway['stream']) {
  const { database, unitOfWork } = engine.database;
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
  const deps = { database, unitOfWork: failingOnce, secrets, names, longTexts, models: { stream }, writer };
  const key = { tenantId: engine.world.tenantId, responseId, iteration: 0 };
  return new MockActivityEnvironment().run(() => runTurn({ ...deps, metrics: noMetrics }, key));
}

const attemptsOf = async (responseId: string) =>
  (await engine.admin.query('select run_id, outcome from turn_attempts where response_id = $1', [responseId]))
    .rows as unknown[];

it('a database that fails once while the id of a vendor’s run is saved costs no second run', async () => {
  const responseId = await engine.create();
  let runs = 0;
  await attempt(responseId, async function* () {
    runs += 1;
    failing = true;
    yield { type: 'run', id: `run_${runs}` };
    yield { type: 'text', text: 'Whole.' };
    yield { type: 'finish', reason: 'stop', usage: null };
  });
  expect(runs).toBe(1);
  expect(await attemptsOf(responseId)).toEqual([{ run_id: 'run_1', outcome: 'committed' }]);
});

it('a database that fails once while a refusal of the vendor is saved makes no crash of it', async () => {
  const responseId = await engine.create();
  // oxlint-disable-next-line require-yield
  const refused = attempt(responseId, async function* () {
    failing = true;
    throw new ModelFailure('rate_limited', { retryable: true, retryAfterMs: 30_000 });
  });
  await expect(refused).rejects.toMatchObject({ type: 'rate_limited', nextRetryDelay: 30_000 });
  expect(await attemptsOf(responseId)).toMatchObject([{ outcome: 'vendor_failed' }]);
});
