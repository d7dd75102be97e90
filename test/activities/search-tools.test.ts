import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runTurn, type TurnDependencies } from '#activities/responses/run-turn.ts';
import { StreamWriter } from '#activities/responses/stream-writer.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import type { ModelGateway, ModelRequest } from '#domain/capabilities/models/model-gateway.ts';
import type { TurnResult } from '#domain/responses/record/turn-result.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import { connectServer, tool } from '../support/connected-server.ts';
import { openEngine, requestOf, type Engine } from '../support/engine.ts';
import { longTexts } from '../support/long-texts.ts';
import { secrets } from '../support/world.ts';
import { noMetrics } from '../support/no-metrics.ts';

const found = 'mcp__rooms__zz_cancel_booking';
const requests: ModelRequest[] = [];
/** Called with each request. */
let afterwards = () => {};
/** Searches for a tool with an address in the query. */
const models: ModelGateway = {
  async *stream(request) {
    requests.push(request);
    afterwards();
    if (!request.messages.some(({ role }) => role === 'tool')) {
      const query = JSON.stringify({ query: 'cancel the booking of ada@example.org' });
      yield { type: 'tool_call', name: 'tool_search', arguments: query, state: null };
      yield { type: 'finish', reason: 'tool_calls', usage: null };
    } else {
      yield { type: 'text', text: 'Done.' };
      yield { type: 'finish', reason: 'stop', usage: null };
    }
  },
};

let engine: Engine;
let responseId: string;

async function accept(): Promise<string> {
  const id = newResponseId();
  const limits = { maxActivePerSpace: 10_000, retentionSeconds: 600 };
  await engine.act((ctx) => createResponse(ctx, requestOf(engine.world), { responseId: id, limits }));
  return id;
}

function turnOf(id: string, iteration: number, changed: Partial<TurnDependencies> = {}): Promise<TurnResult> {
  const { database, unitOfWork } = engine.database;
  const writer = new StreamWriter(database);
  const names = { find: () => Promise.reject(new Error('no recogniser')) };
  const deps = { database, unitOfWork, secrets, longTexts, names, metrics: noMetrics, models, writer };
  const key = { tenantId: engine.world.tenantId, responseId: id, iteration };
  return new MockActivityEnvironment().run(() => runTurn({ ...deps, ...changed }, key));
}

beforeAll(async () => {
  engine = await openEngine();
  const address = { type: 'string', description: 'Such as eve@example.org' };
  await connectServer(engine, {
    slug: 'rooms',
    tools: [
      ...Array.from({ length: 130 }, (_, i) => tool(`t${`${i}`.padStart(3, '0')}`)),
      tool('zz_cancel_booking', {
        description: 'Cancels a booking; bob@example.org knows more.',
        inputSchema: { type: 'object', properties: { who: address } },
      }),
    ],
    enabled: ['*'],
  });
  const pii = { mode: 'redact', restore_in_tool_arguments: ['rooms'] };
  await engine.admin.query('update spaces set policy = $1', [JSON.stringify({ version: 2, pii })]);
  responseId = await accept();
  await turnOf(responseId, 0);
  await turnOf(responseId, 1);
});
afterAll(() => engine.stop());

it('the query and the results of a tool search hold tokens in the place of personal data', async () => {
  const [, after] = requests;
  expect(after?.tools.map(({ name }) => name)).toContain(found);
  const received = after?.messages.find(({ role }) => role === 'tool');
  expect(received).toMatchObject({ name: 'tool_search', result: expect.stringContaining(found) as string });
  expect(JSON.stringify(received)).toMatch(/\[EMAIL_\w{12}\] knows more/);
  expect(JSON.stringify(after)).not.toContain('example.org');
});

it('the stored search holds them, too', async () => {
  const { rows } = await engine.admin.query('select wire, exchange from items');
  const kept = JSON.stringify([rows, await engine.events(responseId)]);
  expect(kept).toContain('tool_search');
  expect(kept).toMatch(/the booking of \[EMAIL_\w{12}\]/);
  expect(kept).not.toContain('example.org');
});

it('a database that fails once while tools are searched has the model asked no second time', async () => {
  const id = await accept();
  const { unitOfWork } = engine.database;
  // The first transaction after the model stores the values of the query, the second one searches.
  let until = 0;
  afterwards = () => (until = 2);
  const once: typeof unitOfWork.inTenant = (...given) =>
    until-- === 1
      ? Promise.reject(Object.assign(new Error('shutdown'), { code: '57P01' }))
      : unitOfWork.inTenant(...given);
  const failing = Object.assign(Object.create(unitOfWork) as typeof unitOfWork, { inTenant: once });
  const before = requests.length;
  await turnOf(id, 0, { unitOfWork: failing });
  afterwards = () => {};
  expect(until).toBeLessThan(0);
  await turnOf(id, 1);
  expect(requests).toHaveLength(before + 2);
  expect(await engine.record(id)).toMatchObject({ status: 'completed', platform: { attempts: 2 } });
});
