import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { responseEnvelope } from '#api/contract/responses.ts';
import { cancelResponse } from '#domain/responses/end/cancel-response.ts';
import { claimCall } from '#domain/responses/calls/claim-call.ts';
import { closeResponse } from '#domain/responses/end/close-response.ts';
import { commitCall } from '#domain/responses/calls/commit-call.ts';
import { deleteResponse } from '#domain/responses/end/delete-response.ts';
import { openEngine, search, type Engine } from '../support/engine.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { splitFrames } from '../support/sse-frames.ts';
import { statementsDuring } from '../support/statements.ts';
import { addMember, createWorld } from '../support/world.ts';

let engine: Engine;
let gateway: TestGateway;

beforeAll(async () => {
  engine = await openEngine();
  gateway = await openGateway(engine.database);
});
afterAll(async () => {
  await gateway?.close();
  await engine?.stop();
});

const get = (id: string, apiKey = engine.world.apiKey, spaceId = engine.world.spaceId) =>
  gateway.send({ method: 'GET', path: `/v1/spaces/${spaceId}/responses/${id}`, apiKey });

const reasonedBy = (turn: number) => ({ kind: 'openai_compatible' as const, model: 'paid', turn, place: 0 });

async function completed(text = 'Twice a day.'): Promise<string> {
  const id = await engine.create({ metadata: { note: 'tides', a: 'é "quoted" \u2028' } });
  const attempt = await engine.attempt(id);
  await attempt.say(text);
  await attempt.commit();
  return id;
}

/** A successful search, an interrupted search, and a text between them. */
async function withCalls(end: 'commit' | 'cancel'): Promise<string> {
  const id = await engine.create();
  const first = await engine.attempt(id);
  await first.say('Let me look. ');
  await first.commit({ calls: [search('tides'), search('moon')], reason: 'tool_calls' });
  const key = (callIndex: number) => ({
    tenantId: engine.world.tenantId,
    responseId: id,
    iteration: 0,
    callIndex,
  });
  const results = [
    { file_id: 'file_1', filename: 'tides.md', score: 0.5, text: 'The moon pulls.', attributes: { a: 'b' } },
  ];
  for (const index of end === 'commit' ? [0, 1] : [0]) {
    await claimCall(engine.database, key(index));
    await commitCall(engine.database, key(index), {
      outcome: 'succeeded',
      result: '{"results":[]}',
      end: { status: 'completed', output: '', results },
    });
  }
  if (end === 'cancel') {
    await engine.act((ctx) => cancelResponse(ctx, { responseId: id }));
    return id;
  }
  const last = await engine.attempt(id, 1);
  last.reason([
    {
      summary: ['Look at the moon.'],
      providerState: reasonedBy(1),
    },
  ]);
  await last.say('Twice a day.');
  await last.commit();
  return id;
}

const ends: Record<string, () => Promise<string>> = {
  completed,
  'completed with calls and reasoning': () => withCalls('commit'),
  'cancelled with a call under way': () => withCalls('cancel'),
  'incomplete, cut off in mid-text': async () => {
    const id = await engine.create({ maxOutputTokens: 16 });
    const attempt = await engine.attempt(id);
    await attempt.say('Twice a');
    await attempt.commit({ reason: 'length' });
    return id;
  },
  failed: async () => {
    const id = await engine.create();
    await engine.attempt(id);
    await engine.database.unitOfWork.inTenant(engine.world.tenantId, (em) =>
      closeResponse(em, id, { kind: 'failed', code: 'internal_error' }),
    );
    return id;
  },
  'restarted in mid-text, so that an item is superseded': async () => {
    const id = await engine.create({ onGenerationLoss: 'restart' });
    await (await engine.attempt(id)).say('Half of it');
    const second = await engine.attempt(id);
    await second.say('The whole of it.');
    await second.commit();
    return id;
  },
  'not to be stored': async () => {
    const id = await engine.create({ store: false });
    await (await engine.attempt(id)).commit();
    return id;
  },
};

describe('GET of a response that has ended', () => {
  it.each(Object.keys(ends))(
    '%s: sends the bytes of its last event, which agree with its rows',
    async (name) => {
      const id = await ends[name]!();
      const { status, headers, text, body } = await get(id);
      expect(status).toBe(200);
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
      const last = (await engine.events(id)).at(-1)!;
      expect(text).toBe(JSON.stringify({ data: last['response'] }));
      // The presenter of running responses, on the same rows.
      await engine.admin.query('update responses set record = null where id = $1', [id]);
      expect((await get(id)).body).toEqual(body);
      expect(body.data).toEqual(JSON.parse(JSON.stringify(await engine.record(id))));
      expect(responseEnvelope.parse(body)).toEqual(body);
    },
  );

  it('costs one statement of the database, and fifty at the same moment cost three', async () => {
    const ids = [await completed(), await completed()];
    await get(ids[0]!);
    await expect.poll(() => statementsDuring(gateway, () => get(ids[0]!))).toEqual(['read_responses']);
    const many = Array.from({ length: 50 }, (_, i) => ids[i % 2]!);
    const names = await statementsDuring(gateway, async () => {
      const answers = await Promise.all(many.map((id) => get(id)));
      expect(answers.map(({ body }) => body.data.id)).toEqual(many);
    });
    expect(new Set(names)).toEqual(new Set(['read_responses']));
    expect(names.length).toBeLessThanOrEqual(3);
  });

  it('is refused by the next request after the role was withdrawn', async () => {
    const id = await completed();
    const member = await addMember(engine.database.unitOfWork, engine.world, { spaceRole: 'space_editor' });
    expect((await get(id, member.apiKey)).status).toBe(200);
    await engine.admin.query(`update space_members set role_key = 'space_member' where principal_id = $1`, [
      member.principalId,
    ]);
    expect(await get(id, member.apiKey)).toMatchObject({
      status: 403,
      body: { error: { code: 'missing_permission', missing_permission: 'responses.read' } },
    });
    await engine.admin.query(`update principals set status = 'disabled' where id = $1`, [member.principalId]);
    expect(await get(id, member.apiKey)).toMatchObject({
      status: 403,
      body: { error: { code: 'principal_disabled' } },
    });
  });

  it('is not found any more once it is deleted or has expired', async () => {
    const [deleted, expired] = [await completed(), await completed()];
    await engine.act((ctx) => deleteResponse(ctx, { responseId: deleted }));
    for (const table of ['responses', 'response_ids']) {
      await engine.admin.query(`update ${table} set expires_at = now() - interval '1 second' where id = $1`, [
        expired,
      ]);
    }
    expect(await get(deleted)).toMatchObject({ status: 404, body: { error: { code: 'response_deleted' } } });
    expect(await get(expired)).toMatchObject({ status: 404, body: { error: { code: 'response_expired' } } });
    expect(await get('resp_unknown')).toMatchObject({
      status: 404,
      body: { error: { code: 'response_not_found' } },
    });
  });

  it('shows each of many callers at the same moment their own, and nobody another’s', async () => {
    const abroad = await createWorld(engine.database.unitOfWork);
    const member = await addMember(engine.database.unitOfWork, engine.world, { spaceRole: 'space_member' });
    const id = await completed('Only for its owner.');
    const running = await engine.create();
    const asked: { key: string; space: string; id: string; code: number }[] = [
      { key: engine.world.apiKey, space: engine.world.spaceId, id, code: 200 },
      { key: abroad.apiKey, space: engine.world.spaceId, id, code: 404 },
      { key: abroad.apiKey, space: abroad.spaceId, id, code: 404 },
      { key: member.apiKey, space: engine.world.spaceId, id, code: 403 },
      { key: engine.world.apiKey, space: engine.world.spaceId, id: running, code: 200 },
      { key: member.apiKey, space: engine.world.spaceId, id: 'resp_unknown', code: 404 },
    ];
    await Promise.all(asked.map((each) => get(each.id, each.key, each.space)));
    for (let round = 0; round < 10; round += 1) {
      const mixed = asked.toSorted(() => Math.random() - 0.5);
      const answers = await Promise.all(mixed.map((each) => get(each.id, each.key, each.space)));
      expect(answers.map(({ status }) => status)).toEqual(mixed.map(({ code }) => code));
      for (const [i, { status, body }] of answers.entries()) {
        if (status === 200) {
          expect(body.data.id).toBe(mixed[i]!.id);
        }
      }
    }
  });
});

describe('GET of a response that is running', () => {
  const output = async (id: string): Promise<{ type: string; id: string }[]> =>
    (await get(id)).body.data.output;

  it('has the reasoning that readers of the stream have, at the place where it stays', async () => {
    const id = await engine.create();
    const attempt = await engine.attempt(id);
    attempt.reason([{ summary: ['Look at the moon.'], providerState: reasonedBy(0) }]);
    await attempt.say('Twice');
    const running = await output(id);
    expect(running).toMatchObject([
      { type: 'reasoning', summary: [{ text: 'Look at the moon.' }] },
      { type: 'message', status: 'in_progress', content: [{ text: 'Twice' }] },
    ]);
    await attempt.commit();
    expect((await output(id)).map((item) => item.id)).toEqual(running.map((item) => item.id));
  });

  it('has no message that another one has superseded', async () => {
    const id = await engine.create({ onGenerationLoss: 'restart' });
    await (await engine.attempt(id)).say('Half of it');
    await (await engine.attempt(id)).say('The whole');
    expect(await output(id)).toMatchObject([{ type: 'message', content: [{ text: 'The whole' }] }]);
  });
});

describe('GET of the stream of a response that has ended', () => {
  const stream = (id: string, cursor: string) =>
    gateway.send({
      method: 'GET',
      path: `/v1/spaces/${engine.world.spaceId}/responses/${id}?stream=true`,
      apiKey: engine.world.apiKey,
      headers: { 'last-event-id': cursor },
    });

  it('answers 204 to a reader that has its last event, and that event to a reader one short of it', async () => {
    const id = await completed();
    const last = (await engine.events(id)).at(-1)!;
    const n = last['sequence_number'] as number;
    expect(last['type']).toBe('response.completed');
    for (const cursor of [`${id}:${n}`, String(n)]) {
      const { status, headers, text } = await stream(id, cursor);
      expect({ status, text, type: headers['content-type'] }).toEqual({
        status: 204,
        text: '',
        type: undefined,
      });
    }
    const short = await stream(id, `${id}:${n - 1}`);
    expect(short.status).toBe(200);
    const sent = splitFrames(Buffer.from(short.text)).frames.filter(({ id: place }) => place !== null);
    expect(sent.map(({ event }) => event)).toEqual(['response.completed']);
    expect(await stream(id, `${id}:${n + 1}`)).toMatchObject({
      status: 422,
      body: { error: { code: 'cursor_out_of_range' } },
    });
  });
});
