import type { Client } from 'pg';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { RequestLimits } from '#api/limits/request-limits.ts';
import { TokenBuckets } from '#api/limits/token-buckets.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { connect } from '../support/tables.ts';
import { addMember, createWorld, type World } from '../support/world.ts';

const question = { input: { text: 'Why?' } };

let database: TestDatabase;
let admin: Client;
let world: World;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = await connect(database.adminUrl);
  world = await createWorld(database.unitOfWork);
});
afterAll(async () => {
  await admin?.end();
  await database?.drop();
});

async function open(env: Record<string, string>): Promise<TestGateway> {
  const gateway = await openGateway(database, env);
  onTestFinished(() => gateway.close());
  return gateway;
}

const settings = (principal: [number, number], tenant: [number, number]) => ({
  REQUESTS_PER_SECOND_PER_PRINCIPAL: principal[0],
  REQUEST_BURST_PER_PRINCIPAL: principal[1],
  REQUESTS_PER_SECOND_PER_TENANT: tenant[0],
  REQUEST_BURST_PER_TENANT: tenant[1],
});
const asEnv = (values: Record<string, number>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));

describe('the bucket of a principal', () => {
  it('lets the burst through at once, then the refill, and reports when there is more', () => {
    const buckets = new TokenBuckets({ rate: 50, burst: 100 });
    const taken = (at: number, times: number) =>
      Array.from({ length: times }, () => buckets.take('a', 1, at)).filter(({ taken }) => taken).length;
    expect(taken(0, 150)).toBe(100);
    expect(buckets.take('a', 1, 0)).toEqual({ taken: false, remaining: 0, waitMs: 20 });
    expect(taken(1_000, 80)).toBe(50);
    expect(taken(60_000, 200)).toBe(100);
    expect(buckets.take('b', 1, 60_000).taken).toBe(true);
  });
});

describe('a request', () => {
  it('is answered with its limits, on every surface and under both prefixes, from the same buckets', async () => {
    const gateway = await open(asEnv(settings([0.01, 4], [100, 200])));
    const { apiKey } = await addMember(database.unitOfWork, world, { tenantRoles: ['owner'] });
    const space = `/v1/spaces/${world.spaceId}`;
    const answers = [
      await gateway.send({ method: 'GET', path: `${space}/collections`, apiKey }),
      await gateway.send({ method: 'GET', path: `${space}/openai/models`, apiKey, prefix: '/api-proxy' }),
      await gateway.send({ method: 'GET', path: '/trpc/notifications.unreadCount?input=%7B%7D', apiKey }),
      await gateway.send({ method: 'GET', path: '/v1/notifications', apiKey }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(answers[0]!.headers['ratelimit-policy']).toBe('"principal";q=4;w=400, "tenant";q=200;w=2');
    const rest = answers.map(({ headers }) => /"principal";r=(\d+)/.exec(headers['ratelimit']!)![1]);
    expect(rest).toEqual(['3', '2', '1', '0']);
    expect(answers[0]!.headers['ratelimit']).toMatch(/^"principal";r=3;t=100, "tenant";r=199;t=1$/);
    for (const path of [`${space}/collections`, `${space}/openai/models`, '/trpc/spaces.list?input=%7B%7D']) {
      const refused = await gateway.send({ method: 'GET', path, apiKey });
      const error = refused.body.error.data?.error ?? refused.body.error;
      expect([refused.status, error.type, error.code], path).toEqual([
        429,
        'rate_limit_error',
        'rate_limited',
      ]);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(90);
      expect(refused.headers['ratelimit']).toMatch(/^"principal";r=0;t=400/);
    }
  });

  it.each(['with its length', 'in chunks'])('whose body is long counts as several, sent %s', async (form) => {
    const gateway = await open(asEnv(settings([0.01, 100], [100, 200])));
    const { apiKey } = await addMember(database.unitOfWork, world);
    const body = JSON.stringify({ input: { text: 'a'.repeat(320 * 1_024) } });
    const post = (text: string) =>
      gateway.app.inject({
        method: 'POST',
        url: `/api/v1/spaces/${world.spaceId}/responses`,
        headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
        payload: form === 'in chunks' ? Readable.from([text]) : text,
      });
    const rest = async (text: string) => {
      const { headers } = await post(text);
      return Number(/"principal";r=(\d+)/.exec(String(headers['ratelimit']))![1]);
    };
    expect([await rest(body), await rest(JSON.stringify(question))]).toEqual([89, 88]);
    const answers = [];
    for (let i = 0; i < 9; i += 1) answers.push((await post(body)).statusCode);
    expect(answers.filter((status) => status === 429)).toHaveLength(1);
  });

  it('that batches calls counts as many as it makes', async () => {
    const gateway = await open(asEnv(settings([0.01, 5], [100, 200])));
    const { apiKey } = await addMember(database.unitOfWork, world);
    const batch = (length: number) =>
      gateway.send({
        method: 'GET',
        path: `/trpc/${Array.from({ length }, () => 'notifications.unreadCount').join(',')}?batch=1&input=${encodeURIComponent(
          JSON.stringify(Object.fromEntries(Array.from({ length }, (_, at) => [at, {}]))),
        )}`,
        apiKey,
      });
    expect((await batch(3)).status).toBe(200);
    expect((await batch(3)).status).toBe(429);
    // A refused gateway refuses for a tenth of a second without asking the database.
    await sleep(150);
    expect((await batch(2)).status).toBe(200);
  });

  it('of one principal is refused without effect on others of the tenant, who have their own bucket', async () => {
    const gateway = await open(asEnv(settings([0.01, 2], [1_000, 1_000])));
    const [first, second] = [
      await addMember(database.unitOfWork, world),
      await addMember(database.unitOfWork, world),
    ];
    const ask = async (apiKey: string) =>
      (await gateway.send({ method: 'GET', path: '/v1/notifications', apiKey })).status;
    expect([await ask(first.apiKey), await ask(first.apiKey), await ask(first.apiKey)]).toEqual([
      200, 200, 429,
    ]);
    expect(await ask(second.apiKey)).toBe(200);
  });

  it('without a known caller is not counted', async () => {
    const gateway = await open(asEnv(settings([1, 1], [1, 1])));
    for (let i = 0; i < 5; i += 1) {
      const answer = await gateway.send({ method: 'GET', path: '/v1/notifications' });
      expect([answer.status, answer.headers['ratelimit']]).toEqual([401, undefined]);
      expect((await gateway.app.inject('/healthz')).statusCode).toBe(200);
    }
  });
});

describe('the total of a tenant', () => {
  /** Like many gateways over one database, each with a pool of its own. */
  function processes(count: number, tenant: [number, number]): RequestLimits[] {
    return Array.from({ length: count }, () => {
      const own = new Database({ url: database.url, statementTimeoutMs: 5_000 });
      onTestFinished(() => own.close());
      return new RequestLimits(own, settings([1e6, 1e6], tenant));
    });
  }
  const identity = (tenantId: string, principalId = newId()) => ({
    tenantId,
    principalId,
    apiKeyId: null,
    keyPermissions: null,
  });
  async function flood(limits: RequestLimits, tenantId: string, forMs: number): Promise<number> {
    const until = performance.now() + forMs;
    let admitted = 0;
    const callers = Array.from({ length: 8 }, async () => {
      const caller = identity(tenantId);
      while (performance.now() < until) {
        if ((await limits.admit(caller)).retryAfter === null) admitted += 1;
        await sleep(1);
      }
    });
    await Promise.all(callers);
    return admitted;
  }

  it('holds over two processes: capacity and refill, and 2 % at most beyond', async () => {
    const { tenantId } = await createWorld(database.unitOfWork);
    const startedAt = performance.now();
    const both = processes(2, [200, 400]);
    const admitted = await Promise.all(both.map((limits) => flood(limits, tenantId, 2_500)));
    const seconds = (performance.now() - startedAt) / 1_000;
    const all = admitted[0]! + admitted[1]!;
    expect(all).toBeLessThanOrEqual((400 + 200 * seconds) * 1.02);
    // The full allowance is granted, too.
    expect(all).toBeGreaterThan(400);
    // A first process that took everything would have left none to the second.
    expect(Math.min(...admitted)).toBeGreaterThan(20);
  }, 20_000);

  it('costs a write for a block of requests, and none while the bucket is empty', async () => {
    const { tenantId } = await createWorld(database.unitOfWork);
    const own = new Database({ url: database.url, statementTimeoutMs: 5_000 });
    onTestFinished(() => own.close());
    let writes = 0;
    const counting = new Proxy(own, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (name !== 'call') return member;
        return (...args: Parameters<Database['call']>) => {
          writes += 1;
          return target.call(...args);
        };
      },
    });
    const limits = new RequestLimits(counting, settings([1e6, 1e6], [300, 600]));
    let admitted = 0;
    for (let i = 0; i < 600; i += 1) {
      if ((await limits.admit(identity(tenantId))).retryAfter === null) admitted += 1;
    }
    expect(admitted).toBe(600);
    expect(writes).toBeLessThan(40);
    const before = writes;
    const until = performance.now() + 1_000;
    let refused = 0;
    while (performance.now() < until) {
      if ((await limits.admit(identity(tenantId))).retryAfter !== null) refused += 1;
    }
    expect(refused).toBeGreaterThan(500);
    expect(writes - before).toBeLessThan(40);
  }, 20_000);

  it('grants a burst of concurrent requests its full allowance, also when it is the first', async () => {
    const { tenantId } = await createWorld(database.unitOfWork);
    const [limits] = processes(1, [1, 200]);
    const verdicts = await Promise.all(Array.from({ length: 250 }, () => limits!.admit(identity(tenantId))));
    const admitted = verdicts.filter(({ retryAfter }) => retryAfter === null).length;
    expect(admitted).toBeGreaterThanOrEqual(200);
    expect(admitted).toBeLessThan(205);
  });

  it('is of that tenant alone', async () => {
    const [first, second] = [await createWorld(database.unitOfWork), await createWorld(database.unitOfWork)];
    const [limits] = processes(1, [1, 3]);
    const verdicts = async (tenantId: string, times: number) => {
      const found: (number | null)[] = [];
      for (let i = 0; i < times; i += 1) found.push((await limits!.admit(identity(tenantId))).retryAfter);
      return found;
    };
    expect(await verdicts(first.tenantId, 4)).toEqual([null, null, null, 1]);
    expect(await verdicts(second.tenantId, 3)).toEqual([null, null, null]);
  });

  it('keeps refilling when the clock of the database was set back', async () => {
    const { tenantId } = await createWorld(database.unitOfWork);
    await admin.query(`insert into rate_buckets values ($1, 0, now() + interval '1 hour')`, [tenantId]);
    const take = async () =>
      (
        await admin.query<{ taken: number }>('select taken from app.take_tokens($1, 10, 100, 100)', [
          tenantId,
        ])
      ).rows[0]!.taken;
    expect(await take()).toBe(0);
    await sleep(300);
    expect(await take()).toBe(10);
  });

  it('refuses no request because the database is away', async () => {
    const [limits] = processes(1, [100, 100]);
    const away = new Database({ url: 'postgres://nobody@127.0.0.1:1/none', statementTimeoutMs: 100 });
    onTestFinished(() => away.close());
    const blind = new RequestLimits(away, settings([1e6, 1e6], [100, 100]));
    expect((await blind.admit(identity(newId()))).retryAfter).toBeNull();
    expect((await limits!.admit(identity(world.tenantId))).retryAfter).toBeNull();
  });
});

describe('waiting for a response', () => {
  it('takes the place of a stream for as long as it lasts', async () => {
    const gateway = await open({ MAX_STREAMS_PER_PRINCIPAL: '1' });
    const path = `/v1/spaces/${world.spaceId}/responses`;
    const ask = (seconds: number) =>
      gateway.send({
        method: 'POST',
        path,
        apiKey: world.apiKey,
        headers: { prefer: `wait=${seconds}` },
        body: { input: { text: 'Why?' } },
      });
    const count = async () => (await admin.query('select from responses')).rowCount;
    const waiting = ask(2);
    await sleep(700);
    const before = await count();
    const refused = await ask(1);
    expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited']);
    expect(await count()).toBe(before);
    expect((await waiting).status).toBe(202);
    expect((await ask(1)).status).toBe(202);
  }, 20_000);
});

describe('unfinished responses', () => {
  it('of all spaces of a tenant together are limited', async () => {
    const gateway = await open({ MAX_ACTIVE_RESPONSES_PER_TENANT: '2' });
    const own = await createWorld(database.unitOfWork);
    const ask = (of: World) =>
      gateway.send({
        method: 'POST',
        path: `/v1/spaces/${of.spaceId}/responses`,
        apiKey: of.apiKey,
        body: question,
      });
    const answers = [await ask(own), ...(await Promise.all([ask(own), ask(own), ask(own)]))];
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 202, 429, 429]);
    const refused = answers.find(({ status }) => status === 429)!;
    expect(refused.body.error).toMatchObject({
      code: 'too_many_active_responses',
      message: 'Too many responses of this tenant are running.',
    });
    expect(refused.headers['retry-after']).toBe('1');
    expect((await ask(await createWorld(database.unitOfWork))).status).toBe(202);
  });

  it('that reach a limit write one event an hour, with a fan-out to the administrators of the space or tenant', async () => {
    const own = await createWorld(database.unitOfWork);
    const ask = async (limits: Record<string, string>) => {
      const gateway = await open(limits);
      const path = `/v1/spaces/${own.spaceId}/responses`;
      const { status } = await gateway.send({ method: 'POST', path, apiKey: own.apiKey, body: question });
      return status;
    };
    expect(await ask({})).toBe(202);
    for (const limits of [
      { MAX_ACTIVE_RESPONSES_PER_SPACE: '1' },
      { MAX_ACTIVE_RESPONSES_PER_SPACE: '1' },
      { MAX_ACTIVE_RESPONSES_PER_TENANT: '1' },
    ]) {
      expect(await ask(limits)).toBe(429);
    }
    const { rows } = await admin.query(
      `select event_type, resource_id, metadata, exists (select from fan_outs f where f.event_id = e.id) as pending
         from events e where tenant_id = $1 and event_type like '%.limit_reached' order by id`,
      [own.tenantId],
    );
    const metadata = expect.objectContaining({ limit: 'active_responses', value: 1, outcome: 'denied' });
    expect(rows).toEqual([
      { event_type: 'space.limit_reached', resource_id: own.spaceId, metadata, pending: true },
      { event_type: 'system.limit_reached', resource_id: own.tenantId, metadata, pending: true },
    ]);
  });
});

describe('a request that waits for a lock', () => {
  it('is given up after two seconds, and may be retried', async () => {
    const gateway = await open({});
    const collection = await gateway.send({
      method: 'POST',
      path: `/v1/spaces/${world.spaceId}/collections`,
      apiKey: world.apiKey,
      body: { name: 'Held' },
    });
    const id = collection.body.data.id as string;
    await admin.query('begin');
    await admin.query('select from collections where id = $1 for update', [id]);
    try {
      const answer = await gateway.send({
        method: 'DELETE',
        path: `/v1/spaces/${world.spaceId}/collections/${id}`,
        apiKey: world.apiKey,
      });
      expect([answer.status, answer.body.error.code, answer.headers['retry-after']]).toEqual([
        503,
        'overloaded',
        '1',
      ]);
    } finally {
      await admin.query('rollback');
    }
  }, 20_000);
});
