import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createStoredCredentials } from '#adapters/credentials/stored-credentials.ts';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createToolServers } from '#adapters/tools/mcp-client.ts';
import { createCredential } from '#domain/capabilities/credentials/create-credential.ts';
import { openCredential } from '#domain/capabilities/credentials/open-credential.ts';
import type { ToolServerGateway } from '#domain/capabilities/tools/tool-server.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import type { CallKey } from '#domain/responses/record/turn-key.ts';
import { connectServer, tool } from '../support/connected-server.ts';
import { openEngine, type Engine } from '../support/engine.ts';
import { answerJson, startOddToolServer, type OddToolServer } from '../support/odd-tool-server.ts';
import { attemptCall, plannedCall } from '../support/planned-call.ts';
import { startPostgresRelay, type PostgresRelay } from '../support/postgres-relay.ts';
import { secrets } from '../support/world.ts';

/** Requests that a call needs before it is sent. */
type Step = 'token' | 'initialize' | 'tools/list';

let engine: Engine;
let relay: PostgresRelay;
/** Connections of the interrupted attempt: through the relay. */
let relayed: { database: Database; orm: ReturnType<typeof createOrm> };
let endpoint: ReturnType<typeof createServer>;
let server: OddToolServer;
let gateway: ToolServerGateway;

/** Requests in order of arrival. */
let seen: (Step | 'tools/call')[];
/** The step that, after so many calls, is answered only when released. */
let held: { step: Step; afterCalls: number } | null;
let isHolding: boolean;
let released: PromiseWithResolvers<void>;
/** Calls that the server refuses because it has forgotten their session. */
let forgotten: number;
let readCredential: () => void;

beforeEach(() => {
  seen = [];
  held = null;
  isHolding = false;
  released = Promise.withResolvers();
  forgotten = 0;
  readCredential = () => undefined;
});

const callsSeen = () => seen.filter((each) => each === 'tools/call').length;

const pass = async (step: Step) => {
  seen.push(step);
  if (step === held?.step && callsSeen() === held.afterCalls) {
    isHolding = true;
    await released.promise;
  }
};

/** What the tool server answers before the call itself. */
function answerStep(method: string, id: string | number | undefined, response: ServerResponse): boolean {
  switch (method) {
    case 'initialize': {
      const result = {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'odd', version: '1' },
      };
      void pass(method).then(() => {
        response.setHeader('mcp-session-id', `session-${seen.length}`);
        answerJson(response, id, result);
      });
      return true;
    }
    case 'tools/list': {
      const { name, description, inputSchema } = tool('pay');
      void pass(method).then(() => answerJson(response, id, { tools: [{ name, description, inputSchema }] }));
      return true;
    }
    case 'tools/call':
      seen.push(method);
      if (forgotten > 0) {
        forgotten -= 1;
        response.writeHead(404).end();
        return true;
      }
      return false;
    default:
      return false;
  }
}

beforeAll(async () => {
  engine = await openEngine();
  relay = await startPostgresRelay(engine.database.url, {});
  const bounds = { url: relay.url, statementTimeoutMs: 10_000 };
  relayed = { database: new Database(bounds), orm: createOrm(bounds) };
  endpoint = createServer((request, response) => {
    request.resume();
    void pass('token').then(() => {
      response.writeHead(200, { 'content-type': 'application/json' });
      // Used for no second call.
      response.end(JSON.stringify({ access_token: 'at-secret', token_type: 'Bearer', expires_in: 0 }));
    });
  });
  await once(endpoint.listen(0, '127.0.0.1'), 'listening');
  const tokens = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`;
  server = await startOddToolServer(
    {
      pay: {
        answer: ({ id }, response) =>
          answerJson(response, id, { content: [{ type: 'text', text: 'Paid.' }] }),
      },
    },
    (asked, response) => asked !== null && answerStep(asked.method, asked.id, response),
  );
  const { credential } = await engine.act((ctx) =>
    createCredential(ctx, {
      name: 'client',
      kind: 'oauth2_client',
      origin: server.origin,
      value: { client_id: 'us', client_secret: 'cs-secret', token_url: 'https://tokens.example.com/token' },
      idempotency: null,
    }),
  );
  const { serverId } = await connectServer(engine, { slug: 'crm', url: server.url, tools: [tool('pay')] });
  await engine.admin.query('update mcp_servers set credential_id = $1 where id = $2', [
    credential.id,
    serverId,
  ]);
  const credentials = new UnitOfWork(relayed.orm);
  const fetch = createGuardedFetch([server.origin, tokens]);
  gateway = createToolServers({
    fetch,
    credentials: [],
    env: {},
    stored: createStoredCredentials({
      fetch,
      open: async (use) => {
        readCredential();
        const opened = await credentials.inTenant(use.tenantId, (em) => openCredential({ em, secrets }, use));
        const { version, value } = opened!;
        return { version, value: { ...value, token_url: `${tokens}/token` } as typeof value };
      },
    }),
  });
});
afterAll(async () => {
  await server?.stop();
  endpoint?.closeAllConnections();
  endpoint?.close();
  await relayed?.database.close();
  await relayed?.orm.close();
  await relay?.close();
  await engine?.stop();
});

const planned = () => plannedCall(engine);
const attempt = (key: CallKey, database?: Database) => attemptCall(engine, gateway, key, database);

const itemOf = async ({ responseId }: CallKey) => (await engine.record(responseId)).output[0];

it.each<{ what: string; step: Step; refused: number }>([
  // First: the list is cached for a few seconds.
  { what: 'the tools are listed', step: 'tools/list', refused: 0 },
  { what: 'its token is requested', step: 'token', refused: 0 },
  { what: 'its session is opened', step: 'initialize', refused: 0 },
  { what: 'a session is opened in place of a forgotten one', step: 'initialize', refused: 1 },
])('a call whose lease expires while $what is not sent after its outcome', async ({ step, refused }) => {
  const key = await planned();
  forgotten = refused;
  held = { step, afterCalls: refused };
  const first = attempt(key, relayed.database);
  await expect.poll(() => isHolding).toBe(true);
  relay.sever();
  expect(await attempt(key)).toEqual({ outcome: 'unknown' });
  const received = await itemOf(key);
  relay.mend();
  released.resolve();
  expect(await first).toEqual({ outcome: 'settled' });
  expect(callsSeen()).toBe(refused);
  expect(await itemOf(key)).toEqual(received);
});

it('a call is made when the database was away while its credential was read', async () => {
  const key = await planned();
  readCredential = () => {
    readCredential = () => undefined;
    relay.sever();
    setTimeout(() => relay.mend(), 1_000);
  };
  expect(await attempt(key)).toEqual({ outcome: 'succeeded' });
  expect(callsSeen()).toBe(1);
  expect(await itemOf(key)).toMatchObject({ status: 'completed', output: 'Paid.' });
});
