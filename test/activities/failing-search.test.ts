import { afterAll, beforeAll, expect, it } from 'vitest';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { calledServer } from '../support/called-server.ts';
import { attemptCall } from '../support/planned-call.ts';

let engine: Engine;
beforeAll(async () => {
  engine = await openEngine();
  await engine.act((ctx) => createCollection(ctx, { name: 'Harbours' }));
});
afterAll(() => engine.stop());

/** From now on statements that read collections fail as those that are cancelled under load. */
const failStatements = () =>
  engine.admin.query(
    `create function app.too_slow() returns boolean language plpgsql as $$
       begin raise exception 'canceling statement due to statement timeout' using errcode = '57014'; end $$;
     grant execute on function app.too_slow() to public;
     create policy too_slow on collections as restrictive for select using (app.too_slow());`,
  );
const mendStatements = () =>
  engine.admin.query('drop policy too_slow on collections; drop function app.too_slow();');

const plannedSearch = async () => {
  const responseId = await engine.create({
    tools: [{ type: 'knowledge_search', collectionIds: null, maxNumResults: null, alpha: null }],
  });
  const calls = [{ name: 'knowledge_search', arguments: '{"query":"beacon"}' }];
  await (await engine.attempt(responseId)).commit({ calls, reason: 'tool_calls' });
  return { tenantId: engine.world.tenantId, responseId, iteration: 0, callIndex: 0 };
};
const server = calledServer(() => Promise.reject(new Error('No server is called.')));

it('a search whose statements are cancelled is repeated a few times, and then its failure is the answer', async () => {
  const key = await plannedSearch();
  await failStatements();
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    await expect(attemptCall(engine, server, key)).rejects.toThrow();
  }
  expect(await attemptCall(engine, server, key)).toEqual({ outcome: 'failed' });
  await mendStatements();
  expect(await attemptCall(engine, server, key)).toEqual({ outcome: 'settled' });
  expect((await engine.record(key.responseId)).output).toMatchObject([
    { type: 'file_search_call', status: 'failed' },
  ]);
  expect((await engine.attempt(key.responseId, 1)).turn.messages.at(-1)).toMatchObject({
    role: 'tool',
    result: '{"error":"The search failed."}',
  });
});

it('a search that is slow once succeeds', async () => {
  const key = await plannedSearch();
  await failStatements();
  await expect(attemptCall(engine, server, key)).rejects.toThrow();
  await mendStatements();
  expect(await attemptCall(engine, server, key)).toEqual({ outcome: 'succeeded' });
});
