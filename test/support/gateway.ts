import type { FastifyInstance } from 'fastify';
import { providers } from '#adapters/sources/providers.ts';
import { buildApp } from '#api/app.ts';
import { assemble, type Gateway } from '#api/compose.ts';
import { parseGatewayConfig } from '#domain/foundation/kernel/config.ts';
import type { Dispatch } from '#domain/foundation/durable/messages.ts';
import type { Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import type { WorkflowReader } from '#domain/operations/workflows/workflow-reader.ts';
import { withStandIn } from './authorization-stand-in.ts';
import { saveIn } from './database.ts';
import { ApiDescription, type OpenApi, type Operation } from './openapi.ts';
import { type MemorySource, memoryProvider } from './sources/memory-source.ts';
import { release } from './release.ts';
import { raisedLimits } from './raised-limits.ts';
import { masterKey } from './stack.ts';

export interface Call {
  method: string;
  /** With the version, without the prefix: `/v1/spaces/…`. */
  path: string;
  prefix?: '/api' | '/api-proxy';
  /** Sent as X-API-Key. */
  apiKey?: string;
  headers?: Record<string, string>;
  /** Sent as JSON; text and bytes go as they are. */
  body?: unknown;
}

export interface Answer {
  status: number;
  headers: Record<string, string | undefined>;
  text: string;
  /** Parsed, null where it is not JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

/** The status, with the code of an error and the permission that is missing. */
export const verdict = ({ status, body }: Answer): string =>
  [status, body?.error?.code, body?.error?.missing_permission].filter((part) => part != null).join(' ');

export interface Sender {
  send(call: Call): Promise<Answer>;
}

/** The same calls over HTTP, to a gateway that is a process of its own. */
export function sendOver(gateway: () => { url: string }): Sender {
  return {
    send: async (call) => {
      const { method, path, prefix = '/api' } = call;
      const payload = payloadOf(call);
      const answer = await fetch(`${gateway().url}${prefix}${path}`, {
        method,
        redirect: 'manual',
        headers: headersOf(call),
        ...(payload === undefined ? {} : { body: payload }),
      });
      const text = await answer.text();
      const headers = {
        ...Object.fromEntries(answer.headers),
        'set-cookie': answer.headers.getSetCookie()[0],
      };
      return { status: answer.status, headers, text, body: parse(text) };
    },
  };
}

/**
 * A gateway in this process, over a real database as app_rt. Workflows that it enqueues stay in the outbox.
 */
export interface TestGateway {
  app: FastifyInstance;
  gateway: Gateway;
  description: ApiDescription;
  /** The starts that it would have sent right after its commits. */
  dispatched: Dispatch[];
  /** Every answer under `/v1` is checked against our own OpenAPI document. */
  send(call: Call): Promise<Answer>;
  close(): Promise<void>;
}

/** The configuration of a gateway without a Temporal server. */
export function gatewayConfig(databaseUrl: string, env: Record<string, string> = {}) {
  return parseGatewayConfig({
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    MASTER_KEY: masterKey,
    // A folder without weights, whatever the cache holds.
    EMBEDDING_MODEL_PATH: import.meta.dirname,
    MAX_ACTIVE_RESPONSES_PER_SPACE: '100000',
    ...raisedLimits,
    MAX_FAILED_ATTEMPTS: '100000',
    MAX_STREAMS_PER_PRINCIPAL: '100000',
    MAX_STREAMS_PER_TENANT: '100000',
    LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'silent',
    ...env,
  });
}

/** Stands in for a Temporal that has run every id once. */
const workflows: WorkflowReader = {
  describe: async (workflowId) => ({
    runId: '00000000-0000-4000-8000-000000000000',
    type: workflowId.startsWith('response/') ? 'generateResponse' : 'ingestDocument',
    status: 'RUNNING',
    taskQueue: 'interactive',
    startedAt: new Date(0),
    closedAt: null,
    historyEvents: 5,
    pending: [
      {
        activity: 'runTurn',
        state: 'scheduled',
        attempt: 3,
        lastFailure: 'model_error (HTTP 503)',
        nextAttemptAt: new Date(1_000),
      },
    ],
  }),
  historyOf: async () => ({ events: [{ eventId: '1' }], next: null }),
};

export async function openGateway(
  database: { url: string },
  env: Record<string, string> = {},
  embedders?: Embedders,
  memorySources: ReadonlyMap<string, MemorySource> = new Map(),
): Promise<TestGateway> {
  const dispatched: Dispatch[] = [];
  const assembled = assemble(gatewayConfig(database.url, env), saveIn(dispatched), [
    ...providers,
    memoryProvider(memorySources),
  ]);
  const authorizationServers = withStandIn(assembled.authorizationServers);
  const gateway = { ...assembled, authorizationServers };
  await gateway.database.assertRestrictedRole();
  gateway.hub.start();
  const app = await buildApp({ ...gateway, workflows, embedders });
  const description = (served ??= await describe(app));
  const opened: TestGateway = {
    app,
    gateway,
    description,
    dispatched,
    send: async (call) => {
      const answer = await inject(app, call);
      const operation: Operation | undefined = description.operationAt(call.method, call.path);
      if (operation !== undefined) {
        description.expectMatches(operation, answer);
      }
      return answer;
    },
    close: async () => {
      await app.close();
      await gateway.close();
      release(opened, gateway);
    },
  };
  return opened;
}

/** Every gateway of a process serves the same one; writing it and compiling its schemas is most of a gateway's cost. */
let served: ApiDescription | undefined;

async function describe(app: FastifyInstance): Promise<ApiDescription> {
  return new ApiDescription((await app.inject('/api/openapi.json')).json<OpenApi>());
}

async function inject(app: FastifyInstance, call: Call): Promise<Answer> {
  const payload = payloadOf(call);
  const response = await app.inject({
    method: call.method as 'GET',
    url: `${call.prefix ?? '/api'}${call.path}`,
    headers: headersOf(call),
    ...(payload === undefined ? {} : { payload }),
  });
  return {
    status: response.statusCode,
    headers: response.headers as Record<string, string | undefined>,
    text: response.body,
    body: parse(response.body),
  };
}

function headersOf({ apiKey, body, headers = {} }: Call): Record<string, string> {
  return {
    ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers,
  };
}

function payloadOf({ body }: Call): string | Buffer<ArrayBuffer> | undefined {
  return body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
    ? (body as string | Buffer<ArrayBuffer> | undefined)
    : JSON.stringify(body);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
