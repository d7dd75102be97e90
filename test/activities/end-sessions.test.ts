import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createResponseActivities } from '#activities/responses/create-response-activities.ts';
import { ContendedPace } from '#domain/foundation/kernel/contended-pace.ts';
import { closeResponse } from '#domain/responses/end/close-response.ts';
import { commitCall } from '#domain/responses/calls/commit-call.ts';
import { saveCallSession } from '#domain/responses/calls/call-sessions.ts';
import { connectServer, tool } from '../support/connected-server.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { secrets } from '../support/world.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
  await connectServer(engine, { slug: 'crm', tools: [tool('pay')] });
});
afterAll(() => engine?.stop());

it('the last turn sends heartbeats while a tool server is slow to end its session', async () => {
  const { tenantId } = engine.world;
  const { unitOfWork } = engine.database;
  const responseId = await engine.create();
  const calls = [{ name: 'mcp__crm__pay', arguments: '{}' }];
  await (await engine.attempt(responseId)).commit({ calls, reason: 'tool_calls' });
  const key = { tenantId, responseId, iteration: 0, callIndex: 0 };
  await unitOfWork.inTenant(tenantId, (em) => saveCallSession({ em, secrets }, key, '{}'));
  const end = { status: 'completed', output: 'Paid.', results: null } as const;
  await commitCall(engine.database, key, { outcome: 'succeeded', result: 'Paid.', end });
  await unitOfWork.inTenant(tenantId, (em) => closeResponse(em, responseId, { kind: 'cancelled' }));
  let asked = 0;
  let beats = 0;
  const endSession = () => {
    asked += 1;
    beats = 0;
    return new Promise<void>(() => undefined);
  };
  const deps = {
    ...engine.database,
    secrets,
    pace: new ContendedPace({ burst: 1, perSecond: 1 }),
    toolServers: { endSession },
  } as unknown;
  const temporal = new MockActivityEnvironment();
  temporal.on('heartbeat', () => (beats += 1));
  const { runTurn } = createResponseActivities(deps as Parameters<typeof createResponseActivities>[0]);
  await temporal.run(() => runTurn({ tenantId, responseId, iteration: 1 }));
  expect(asked).toBe(1);
  expect(beats).toBeGreaterThanOrEqual(1);
});
