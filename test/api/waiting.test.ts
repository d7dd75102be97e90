import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openEngine, type Engine } from '../support/engine.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { connect } from '../support/tables.ts';
import { addMember } from '../support/world.ts';

let engine: Engine;
let gateway: TestGateway;
let url: string;

beforeAll(async () => {
  engine = await openEngine();
  gateway = await openGateway(engine.database, { MAX_STREAMS_PER_PRINCIPAL: '1' });
  url = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await gateway?.close();
  await engine?.stop();
});

const path = () => `/v1/spaces/${engine.world.spaceId}/openai/responses`;

function ask(
  request: { apiKey?: string; key?: string; stream?: boolean; signal?: AbortSignal } = {},
): Promise<Response> {
  const { apiKey = engine.world.apiKey, key, stream = false, signal } = request;
  return fetch(`${url}/api${path()}`, {
    method: 'POST',
    headers: {
      'x-api-key': apiKey,
      'content-type': 'application/json',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
    body: JSON.stringify({ model: 'paid', input: 'Why tides?', stream }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Keeps requests with `key` from being accepted until the returned function is called. */
async function holdBack(key: string): Promise<() => Promise<void>> {
  const { tenantId, owner } = engine.world;
  const client = await connect(engine.database.adminUrl);
  onTestFinished(() => client.end());
  await client.query('begin');
  await client.query(
    `insert into idempotency_keys (tenant_id, principal_id, scope, key, fingerprint, resource_id, expires_at)
     values ($1, $2, $3, $4, 'x', 'x', now() + interval '1 hour')`,
    [tenantId, owner.principalId, `POST ${path()}`, key],
  );
  return async () => void (await client.query('rollback'));
}

const held = () =>
  expect.poll(async () => {
    const { rows } = await engine.admin.query(
      `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    return rows[0].n as number;
  });
const accepted = async () =>
  (await engine.admin.query(`select count(*)::int as n from responses`)).rows[0].n as number;
const waiting = () => gateway.gateway.openStreams.size;

describe.each([false, true])('a caller with stream: %s', (stream) => {
  it('that disconnects before its request is accepted takes no slot', async () => {
    await expect.poll(waiting).toBe(0);
    const key = `gone-${stream}`;
    const before = await accepted();
    const release = await holdBack(key);
    const caller = new AbortController();
    const answer = ask({ key, stream, signal: caller.signal });
    await held().toBe(1);
    caller.abort();
    await expect(answer).rejects.toThrow();
    await new Promise((resolve) => setTimeout(resolve, 100));
    await release();
    await expect.poll(accepted).toBe(before + 1);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    expect((await ask({ stream: true, signal: stop.signal })).status).toBe(200);
  });
});

describe('a caller that waits for the end', () => {
  it('takes its slot before a concurrent request', async () => {
    const { apiKey } = await addMember(engine.database.unitOfWork, engine.world);
    const caller = new AbortController();
    onTestFinished(() => caller.abort());
    const refused: number[] = [];
    for (let i = 0; i < 5; i += 1) {
      ask({ apiKey, signal: caller.signal }).then(
        ({ status }) => refused.push(status),
        () => undefined,
      );
    }
    await expect.poll(() => refused).toEqual([429, 429, 429, 429]);
  });

  it('is answered that the response goes on when the process cannot wait any longer', async () => {
    await expect.poll(waiting).toBe(0);
    const release = await holdBack('stopped');
    const answer = ask({ key: 'stopped' });
    await held().toBe(1);
    onTestFinished(() => void (gateway.gateway.draining.value = false));
    gateway.gateway.draining.value = true;
    await release();
    await expect.poll(waiting).toBe(1);
    gateway.gateway.openStreams.forEach((breakOff) => breakOff());
    const response = await answer;
    expect([response.status, await response.json()]).toMatchObject([503, { error: { code: 'draining' } }]);
    expect(response.headers.get('x-should-retry'), 'with a key').toBe('true');
  });

  it('does not receive the response with a key that was revoked meanwhile', async () => {
    const member = await addMember(engine.database.unitOfWork, engine.world);
    const answer = ask({ apiKey: member.apiKey });
    await expect.poll(waiting).toBeGreaterThan(0);
    const revoked = await gateway.send({
      method: 'POST',
      path: '/trpc/apiKeys.revoke',
      apiKey: engine.world.apiKey,
      body: { key_id: member.keyId },
    });
    expect(revoked.status).toBe(200);
    const response = await answer;
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { error: { code: 'invalid_credentials' } },
    ]);
  });
});
