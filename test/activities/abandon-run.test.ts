import { afterAll, beforeAll, expect, it } from 'vitest';
import { abandonRun } from '#activities/responses/abandon-run.ts';
import type { ModelGateway } from '#domain/capabilities/models/model-gateway.ts';
import { openEngine, type Engine } from '../support/engine.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await openEngine();
});
afterAll(() => engine.stop());

it.each([
  { name: 'stays while the response goes on', expires: '1 hour', abandoned: [] },
  { name: 'is ended when the response has expired', expires: '-1 s', abandoned: ['run_1'] },
])('a vendor’s run $name', async ({ expires, abandoned }) => {
  const id = await engine.create();
  const { turn } = await engine.attempt(id);
  await engine.admin.query('update responses set expires_at = now() + $2::interval where id = $1', [
    id,
    expires,
  ]);
  const ended: string[] = [];
  const models: ModelGateway = {
    stream: () => {
      throw new Error('It is never called.');
    },
    abandon: (_model, runId) => Promise.resolve(void ended.push(runId)),
  };
  const { unitOfWork } = engine.database;
  await abandonRun({ unitOfWork, models }, turn, { runId: 'run_1', cancelled: false, lost: false });
  expect(ended).toEqual(abandoned);
});
