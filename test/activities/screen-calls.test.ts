import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCall } from '#activities/responses/run-call.ts';
import { runTurn } from '#activities/responses/run-turn.ts';
import { StreamWriter } from '#activities/responses/stream-writer.ts';
import type { NameRecogniser } from '#domain/governance/redaction/found-names.ts';
import { readMapping } from '#domain/governance/redaction/pii-mapping.ts';
import { showRestored } from '#domain/conversations/threads/show-restored.ts';
import { newResponseId } from '#domain/foundation/kernel/ids.ts';
import type { ModelGateway } from '#domain/capabilities/models/model-gateway.ts';
import { createResponse } from '#domain/responses/accept/create-response.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { ToolServerFailure, type OutgoingCall } from '#domain/capabilities/tools/tool-server.ts';
import { calledServer } from '../support/called-server.ts';
import { connectServer, tool } from '../support/connected-server.ts';
import { openEngine, requestOf, type Engine } from '../support/engine.ts';
import { longTexts } from '../support/long-texts.ts';
import { secrets } from '../support/world.ts';
import { noMetrics } from '../support/no-metrics.ts';

const said = '{"to": "Ada, ada\\u0040example.org", "card": 4111111111111111, "times": [2]}';
const meant = { to: 'Ada, ada@example.org', card: 4111111111111111, times: [2] };
const pii = {
  mode: 'redact',
  restore_in_tool_arguments: ['open'],
  presidio_url: 'https://names.example.com',
};
const limits = { maxActivePerSpace: 10_000, retentionSeconds: 600 };

let engine: Engine;
let responseId: string;
/** The requests to the servers, and the tokens that could be restored by then. */
const sent: { call: OutgoingCall; known: string[] }[] = [];
/** A recogniser that finds a name in the first request only. */
let finds = true;

const names: NameRecogniser = {
  find: (_url, _language, texts) =>
    Promise.resolve(
      texts.map((text) => {
        const start = finds ? text.indexOf('Ada') : -1;
        return start === -1 ? [] : [{ kind: 'person' as const, start, end: start + 3 }];
      }),
    ),
};
const models: ModelGateway = {
  async *stream() {
    for (const name of ['mcp__closed__add', 'mcp__open__add']) {
      yield { type: 'tool_call', name, arguments: said, state: null };
    }
    yield {
      type: 'tool_call',
      name: 'knowledge_search',
      arguments: '{"query":4111111111111111}',
      state: null,
    };
    yield { type: 'finish', reason: 'tool_calls', usage: null };
  },
};
const toolServers = calledServer(async (_server, call) => {
  sent.push({ call, known: [...(await mapping()).keys()] });
  if (sent.length === 1) throw new ToolServerFailure('unreachable', { sent: true });
  return { kind: 'succeeded', text: 'Added.' };
});

const inTenant: Engine['database']['unitOfWork']['inTenant'] = (tenantId, work) =>
  engine.database.unitOfWork.inTenant(tenantId, work);
const mapping = () =>
  inTenant(engine.world.tenantId, (em) =>
    readMapping({ em, secrets }, engine.world.tenantId, [{ responseId }]),
  );
const deps = () => {
  const { database, unitOfWork } = engine.database;
  return {
    database,
    unitOfWork,
    secrets,
    longTexts,
    names,
    metrics: noMetrics,
    models,
    toolServers,
    writer: new StreamWriter(database),
  };
};
const call = (callIndex: number) =>
  new MockActivityEnvironment().run(() =>
    runCall(deps(), { tenantId: engine.world.tenantId, responseId, iteration: 0, callIndex }),
  );

beforeAll(async () => {
  engine = await openEngine();
  const settings = [{ name: 'add', repeatable: true }];
  for (const slug of ['closed', 'open']) {
    await connectServer(engine, { slug, tools: [tool('add')], settings });
  }
  await engine.admin.query('update spaces set policy = $1', [JSON.stringify({ version: 2, pii })]);
  responseId = newResponseId();
  const input = requestOf(engine.world);
  const asked = new Map([['Why are there tides?', []]]);
  await engine.act((ctx) => createResponse(ctx, input, { responseId, limits, names: asked }));
  const key = { tenantId: engine.world.tenantId, responseId, iteration: 0 };
  await new MockActivityEnvironment().run(() => runTurn(deps(), key));
  finds = false;
});
afterAll(() => engine.stop());

it('values that a model wrote itself reach a server as tokens, the same at every attempt, all stored before', async () => {
  await expect(call(0)).rejects.toMatchObject({ type: 'tool_outcome_in_doubt' });
  expect(await call(0)).toEqual({ outcome: 'succeeded' });
  const [first, second] = sent;
  expect(second?.call).toEqual(first?.call);
  expect(first?.call.arguments).toEqual({
    to: expect.stringMatching(/^\[NAME_\w{12}\], \[EMAIL_\w{12}\]$/) as string,
    card: expect.stringMatching(/^\[CARD_\w{12}\]$/) as string,
    times: [2],
  });
  const tokens = JSON.stringify(first?.call.arguments).match(/\[[A-Z]+_\w{12}\]/g);
  expect(first?.known).toEqual(expect.arrayContaining(tokens ?? []));
});

it('a server that may see values receives the model’s text, and a search uses that text', async () => {
  expect(await call(1)).toEqual({ outcome: 'succeeded' });
  expect(sent.at(-1)?.call.arguments).toEqual(meant);
  expect(await call(2)).toEqual({ outcome: 'succeeded' });
});

it('the ledger, the items and the stream hold tokens, and the requester reads the original arguments', async () => {
  const { output } = await engine.record(responseId);
  const { rows } = await engine.admin.query('select arguments from tool_calls');
  const kept = JSON.stringify([output, rows, await engine.events(responseId)]);
  expect(kept).toContain('[EMAIL_');
  expect(kept).not.toMatch(/Ada|example\.org|4111111111111111/);
  const shown = await engine.act(async (ctx) =>
    showRestored(ctx, await ctx.em.findOneOrFail(Response, { id: responseId }), output),
  );
  expect(shown.slice(0, 2)).toMatchObject([{ arguments: said }, { arguments: said }]);
});
