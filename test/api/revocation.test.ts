import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startDeafRelay } from '../support/deaf-relay.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { statementsDuring } from '../support/statements.ts';
import { addMember, createWorld, scriptedModel, type World } from '../support/world.ts';

let database: TestDatabase;
let gateways: TestGateway[];
let world: World;
let admin: Client;

beforeAll(async () => {
  database = await createTestDatabase();
  world = await createWorld(database.unitOfWork, [scriptedModel({ url: 'http://127.0.0.1:9/v1' }, 'silent')]);
  gateways = [await openGateway(database), await openGateway(database)];
  admin = new Client({ connectionString: database.adminUrl });
  await admin.connect();
});
afterAll(async () => {
  await admin?.end();
  await Promise.all((gateways ?? []).map((gateway) => gateway.close()));
  await database?.drop();
});

const ask = (gateway: TestGateway, apiKey: string) =>
  gateway.send({ method: 'GET', path: `/v1/spaces/${world.spaceId}/collections`, apiKey });

const looksUp = async (gateway: TestGateway, apiKey: string) =>
  (await statementsDuring(gateway, () => ask(gateway, apiKey))).includes('find_credential');

const listen = ({ app }: TestGateway) => app.listen({ port: 0, host: '127.0.0.1' });

/** The stream of a response that does not end by itself. */
async function openStream(address: string, apiKey: string): Promise<Response> {
  const answer = await fetch(`${address}/api/v1/spaces/${world.spaceId}/responses`, {
    method: 'POST',
    headers: { 'X-API-Key': apiKey, 'Content-Type': 'application/json' },
    body: JSON.stringify({ input: { text: 'Why?' }, tools: [], stream: true }),
    signal: AbortSignal.timeout(10_000),
  });
  expect(answer.status).toBe(200);
  return answer;
}

/** A key that both gateways have used and cached. */
async function knownKey() {
  const member = await addMember(database.unitOfWork, world);
  for (const gateway of gateways) {
    expect((await ask(gateway, member.apiKey)).status).toBe(200);
    await expect.poll(() => looksUp(gateway, member.apiKey)).toBe(false);
  }
  return member;
}

/** Ends the LISTEN connections and keeps them from coming back until `allow`; the pools keep theirs. */
async function dropListeners(): Promise<{ allow(): Promise<void> }> {
  const limit = (max: number) => admin.query(`alter database ${database.name} connection limit ${max}`);
  await limit(0);
  await admin.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name not like 'platform%' and pid <> pg_backend_pid()`,
  );
  return { allow: async () => void (await limit(-1)) };
}

describe('a key that two gateways know', () => {
  it('is refused by both within a second of its revocation through one', async () => {
    const { apiKey, keyId } = await knownKey();
    const revoked = await gateways[0]!.send({
      method: 'POST',
      path: '/trpc/apiKeys.revoke',
      apiKey: world.apiKey,
      body: { key_id: keyId },
    });
    expect(revoked.status).toBe(200);
    const revokedAt = performance.now();
    for (const gateway of gateways) {
      await expect
        .poll(async () => (await ask(gateway, apiKey)).status, { timeout: 1_000, interval: 10 })
        .toBe(401);
    }
    expect(performance.now() - revokedAt).toBeLessThan(1_000);
  });

  it.each([
    ['revoked', 'revoked_at = now()'],
    ['cut short', 'expires_at = now()'],
  ])(
    'is refused within a second when its row says that it is %s, any caller who wrote that',
    async (_, change) => {
      const { apiKey, keyId } = await knownKey();
      await admin.query(`update api_keys set ${change} where key_id = $1`, [keyId]);
      for (const gateway of gateways) {
        await expect
          .poll(async () => (await ask(gateway, apiKey)).status, { timeout: 1_000, interval: 10 })
          .toBe(401);
      }
    },
  );

  it('has no more than its remaining permissions at once', async () => {
    const { apiKey, keyId } = await knownKey();
    await admin.query(`update api_keys set permissions = '{models.read}' where key_id = $1`, [keyId]);
    await expect
      .poll(async () => (await ask(gateways[1]!, apiKey)).status, { timeout: 1_000, interval: 10 })
      .toBe(403);
  });

  it('loses open streams when its permission ends', async () => {
    const { apiKey, keyId } = await knownKey();
    const answer = await openStream(await listen(gateways[1]!), apiKey);
    await admin.query(`update api_keys set permissions = '{models.read}' where key_id = $1`, [keyId]);
    const lessenedAt = performance.now();
    expect(await answer.text()).toContain('missing_permission');
    expect(performance.now() - lessenedAt).toBeLessThan(1_000);
  });

  it('expires on time without a notification', async () => {
    const { apiKey, keyId } = await addMember(database.unitOfWork, world);
    await admin.query(`update api_keys set expires_at = now() + interval '1.5 seconds' where key_id = $1`, [
      keyId,
    ]);
    await expect.poll(() => looksUp(gateways[0]!, apiKey)).toBe(false);
    await sleep(1_500);
    expect((await ask(gateways[0]!, apiKey)).status).toBe(401);
  });

  it('is looked up on every request while notifications cannot arrive, and refused at once', async () => {
    const { apiKey, keyId } = await knownKey();
    const listeners = await dropListeners();
    try {
      for (const gateway of gateways) {
        await expect.poll(() => looksUp(gateway, apiKey), { timeout: 1_000, interval: 10 }).toBe(true);
        expect(await looksUp(gateway, apiKey)).toBe(true);
      }
      await admin.query('update api_keys set revoked_at = now() where key_id = $1', [keyId]);
      for (const gateway of gateways) {
        expect((await ask(gateway, apiKey)).status).toBe(401);
      }
    } finally {
      await listeners.allow();
    }
    // Once they listen again, they cache again.
    await knownKey();
  });

  it('loses open streams in time behind a pooler that delivers no notification, too', async () => {
    const members = [
      await addMember(database.unitOfWork, world),
      await addMember(database.unitOfWork, world),
    ];
    const relay = await startDeafRelay(database.url);
    const gateway = await openGateway(relay);
    try {
      const address = await listen(gateway);
      const streams = await Promise.all(members.map(({ apiKey }) => openStream(address, apiKey)));
      const [lessened, revoked] = members.map(({ keyId }) => keyId);
      await admin.query(`update api_keys set permissions = '{models.read}' where key_id = $1`, [lessened]);
      await admin.query('update api_keys set revoked_at = now() where key_id = $1', [revoked]);
      const changedAt = performance.now();
      const [first, second] = await Promise.all(streams.map((answer) => answer.text()));
      // Its next probe is 0.9 s away at most; without it a stream is rechecked every minute.
      expect(performance.now() - changedAt).toBeLessThan(3_000);
      expect(first).toContain('missing_permission');
      expect(second).toContain('invalid_credentials');
    } finally {
      await gateway.close();
      await relay.close();
    }
  });

  it('is looked up on every request behind a pooler that answers LISTEN and delivers nothing', async () => {
    const { apiKey, keyId } = await addMember(database.unitOfWork, world);
    const relay = await startDeafRelay(database.url);
    const gateway = await openGateway(relay);
    try {
      for (const until = performance.now() + 1_500; performance.now() < until; await sleep(100)) {
        expect(await looksUp(gateway, apiKey)).toBe(true);
      }
      await admin.query('update api_keys set revoked_at = now() where key_id = $1', [keyId]);
      expect((await ask(gateway, apiKey)).status).toBe(401);
    } finally {
      await gateway.close();
      await relay.close();
    }
  });
});
