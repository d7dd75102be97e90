import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mintApiKey } from '#domain/identity/api-keys/api-key.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { Maker, type Place } from '../support/places.ts';
import { SignInMaker } from '../support/sign-in-fixtures.ts';
import { addMember, secrets } from '../support/world.ts';

const maxFailedAttempts = 3;

let engine: Engine;
let gateway: TestGateway;
let url: string;

beforeAll(async () => {
  engine = await openEngine();
  gateway = await openGateway(engine.database, {
    MAX_FAILED_ATTEMPTS: `${maxFailedAttempts}`,
    CONNECTOR_ROOTS: 'files=/nonexistent',
  });
  url = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await gateway?.close();
  await engine?.stop();
});

interface Session {
  id: string;
  accessToken: string;
}

const maker = new Maker(() => gateway);
const here = (): Place => ({ ...engine.world, modelAlias: 'paid' });
const signIn = (): Promise<Session> => new SignInMaker(maker).session(here());

const surfaces = {
  native: { path: 'responses', body: { input: { text: 'Why?' }, tools: [] }, headers: { prefer: 'wait=60' } },
  openai: { path: 'openai/responses', body: { model: 'paid', input: 'Why?' }, headers: {} },
};

interface Asked {
  credential: Record<string, string>;
  surface?: keyof typeof surfaces;
  stream?: boolean;
}

function ask({ credential, surface = 'native', stream = false }: Asked): Promise<Response> {
  const { path, body, headers } = surfaces[surface];
  return fetch(`${url}/api/v1/spaces/${engine.world.spaceId}/${path}`, {
    method: 'POST',
    headers: { ...credential, ...(stream ? {} : headers), 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream }),
    signal: AbortSignal.timeout(20_000),
  });
}

const bearer = ({ accessToken }: Session) => ({ authorization: `Bearer ${accessToken}` });

async function runningId(): Promise<string> {
  const { rows } = await engine.admin.query(
    `select id from responses where status = 'queued' order by created_at desc limit 1`,
  );
  return rows[0].id as string;
}

/** Ends the response that runs, as a worker does. */
async function finish(): Promise<void> {
  const attempt = await engine.attempt(await runningId());
  await attempt.say('Because of the moon.');
  await attempt.commit();
}

/** All readers are rechecked. */
const notify = () => engine.admin.query(`select pg_notify('access', $1)`, [engine.world.tenantId]);

/** The stream of a run that waits for a worker. */
async function followRun(session: Session) {
  const { spaceId, apiKey } = engine.world;
  const all = `/v1/spaces/${spaceId}/collections/${await maker.collection(here())}/connectors`;
  const body = { provider_slug: 'filesystem', scope_config: { root: 'files' } };
  const connector = await gateway.send({ method: 'POST', path: all, apiKey, body });
  const runs = `${all}/${connector.body.data.id}/sync`;
  const [run] = (await gateway.send({ method: 'GET', path: runs, apiKey })).body.data;
  const answer = await fetch(`${url}/api${runs}/${run.id}`, {
    headers: { ...bearer(session), accept: 'text/event-stream' },
    signal: AbortSignal.timeout(20_000),
  });
  const cancel = () => gateway.send({ method: 'POST', path: `${runs}/${run.id}/cancel`, apiKey });
  return { answer, cancel };
}

const attached = () => expect.poll(() => gateway.gateway.openStreams.size);

const tokenEnds = {
  expired: `update session_tokens set expires_at = now() - interval '1 second' where session_id = $1`,
  'expired and purged': `delete from session_tokens where session_id = $1`,
};
const sessionEnds = {
  'is revoked': `update sessions set ended_at = now(), end_reason = 'revoked' where id = $1`,
  expires: `update sessions set expires_at = now() where id = $1`,
};

describe.each(Object.entries(tokenEnds))('an access token that is %s', (_, end) => {
  it.each(['native', 'openai'] as const)(
    'does not take the answer from a caller of the %s surface that waits for it',
    async (surface) => {
      const session = await signIn();
      const answer = ask({ credential: bearer(session), surface });
      await attached().toBe(1);
      await engine.admin.query(end, [session.id]);
      await notify();
      await finish();
      const response = await answer;
      expect([response.status, await response.text()]).toEqual([
        200,
        expect.stringContaining('Because of the moon.'),
      ]);
    },
  );

  it('cuts no stream off, and begins none', async () => {
    const session = await signIn();
    const answer = await ask({ credential: bearer(session), stream: true });
    await engine.admin.query(end, [session.id]);
    await notify();
    // It would be cut off within this time.
    await sleep(500);
    expect((await ask({ credential: bearer(session) })).status).toBe(401);
    await finish();
    const text = await answer.text();
    expect(text).toContain('event: response.completed');
    expect(text).not.toContain('event: error');
  });
});

describe.each(Object.entries(tokenEnds))('the stream of a run, with an access token that is %s', (_, end) => {
  it('goes on to the end of the run', async () => {
    const session = await signIn();
    const { answer, cancel } = await followRun(session);
    await engine.admin.query(end, [session.id]);
    await sleep(1_500);
    await cancel();
    const text = await answer.text();
    expect(text).toContain('"status":"cancelled"');
    expect(text).toContain('data: [DONE]');
  });
});

describe.each(Object.entries(sessionEnds))('a session that %s', (_, end) => {
  it('cuts streams off within a second of the notification', async () => {
    const session = await signIn();
    const answer = await ask({ credential: bearer(session), stream: true });
    await engine.admin.query(end, [session.id]);
    await notify();
    const endedAt = performance.now();
    const text = await answer.text();
    expect(performance.now() - endedAt).toBeLessThan(1_000);
    expect(text).toContain('event: error');
    expect(text).toContain('invalid_credentials');
    await finish();
  });

  it('cuts the stream of a run off within seconds', async () => {
    const session = await signIn();
    const { answer } = await followRun(session);
    await engine.admin.query(end, [session.id]);
    const endedAt = performance.now();
    const text = await answer.text();
    expect(performance.now() - endedAt).toBeLessThan(5_000);
    expect(text).toContain('event: error');
    expect(text).toContain('invalid_credentials');
  });

  it('refuses the answer to a caller that waits for it', async () => {
    const session = await signIn();
    const answer = ask({ credential: bearer(session) });
    await attached().toBe(1);
    await engine.admin.query(end, [session.id]);
    await notify();
    const response = await answer;
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { error: { code: 'invalid_credentials' } },
    ]);
    await finish();
  });
});

describe('wrong secrets for a key from the address of its readers', () => {
  it('cut off none of them', async () => {
    const { apiKey, keyId } = await addMember(engine.database.unitOfWork, engine.world);
    const answer = await ask({ credential: { 'x-api-key': apiKey }, stream: true });
    const wrong = mintApiKey(secrets, keyId).token;
    for (let i = 0; i < maxFailedAttempts; i += 1) {
      expect((await ask({ credential: { 'x-api-key': wrong } })).status).toBe(401);
    }
    expect((await ask({ credential: { 'x-api-key': wrong } })).status).toBe(429);
    await notify();
    await sleep(500);
    await finish();
    const text = await answer.text();
    expect(text).toContain('event: response.completed');
    expect(text).not.toContain('event: error');
  });
});
