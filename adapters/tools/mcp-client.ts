import { Client, type Tool } from '@modelcontextprotocol/client';
import type { JsonSchemaValidator, jsonSchemaValidator, PriorDiscovery } from '@modelcontextprotocol/client';
import { LRUCache } from 'lru-cache';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import {
  schemaHash,
  ToolServerFailure,
  type CallOptions,
  type DiscoveredTool,
  type OutgoingCall,
  type ToolList,
  type ToolReply,
  type ToolServerGateway,
  type ToolServerSpec,
} from '#domain/capabilities/tools/tool-server.ts';
import { DpopSessions } from '../authorization/dpop-sessions.ts';
import type { AnswerShares } from '../egress/answer-shares.ts';
import { boundedFetch, type BoundedFetchOptions } from '../egress/bounded-fetch.ts';
import { SecretRemover } from '../egress/secret-remover.ts';
import { credentialOf, type CredentialOptions, type SentCredential } from './server-credential.ts';
import { replyIn } from './call-reply.ts';
import { EndingTransport } from './ending-transport.ts';
import { bindingOf, parse, SharedSessions, type ServerSession } from './shared-sessions.ts';
import { misfitOf } from './structure-check.ts';
import { toServerFailure } from './tool-failures.ts';
import { toRecord } from './tool-result.ts';
import { watchedFetch, type Wire } from './watched-fetch.ts';
import { withRenewal } from './with-renewal.ts';

export interface ToolClientOptions extends BoundedFetchOptions, CredentialOptions {
  /** Timeout of every request but calls, instead of half a minute. */
  briefMs?: number;
  shares?: AnswerShares;
}

const discoveryMs = 30_000;
/** Max silence of a running tool; progress notifications reset it. */
const idleMs = 60_000;
const maxCallMs = 9 * 60_000;
/** How long a server's tool list is cached, so that a round of calls reads it once. */
const listFreshMs = 5_000;
const maxTextLength = 16_384;
const maxPages = 100;
/** Max characters of JSON cached from the discovery data of all servers. */
const maxKept = 32_000_000;
const sizeOf = (value: unknown): number => JSON.stringify(value).length;

/** Definitions come from outside: their schemas are never compiled. */
const noValidation: jsonSchemaValidator = {
  getValidator:
    <T>(): JsonSchemaValidator<T> =>
    (input) => ({ valid: true, data: input as T, errorMessage: undefined }),
};

interface SessionOptions {
  credential: SentCredential;
  signal: AbortSignal;
  key: string | null;
  resumed: ServerSession | null;
  /** The opened session stays open for other calls. */
  leavesOpen?: boolean;
}

type CallAttempt = Pick<SessionOptions, 'credential' | 'signal' | 'resumed'> & Pick<CallOptions, 'confirm'>;

interface Session {
  client: Client;
  transport: EndingTransport;
  call: Wire;
  /** Key in caches. */
  place: string;
  /** Removes the credential that the session sends. */
  remover: SecretRemover;
}

/** Carries an error of the caller's `confirm`, which says nothing about the server, out of the session. */
class ConfirmFailed extends Error {}

/** Tool servers over Streamable HTTP, in both revisions of the protocol. Nothing is retried here. */
export function createToolServers(options: ToolClientOptions): ToolServerGateway {
  // A server's tools depend on the credential and principal: every key is that of `bindingOf`.
  const eras = new LRUCache<string, PriorDiscovery>({
    max: 500,
    maxSize: maxKept,
    sizeCalculation: sizeOf,
    ttl: 300_000,
  });
  const lists = new LRUCache<string, Tool[]>({
    max: 500,
    maxSize: maxKept,
    sizeCalculation: sizeOf,
    ttl: listFreshMs,
  });
  const removers = new LRUCache<string, SecretRemover>({ max: 50 });
  const sessions = new SharedSessions();

  const proofs = new DpopSessions();

  const boundedFor = ({ tenantId }: ToolServerSpec, { connection }: SentCredential) => {
    const shared = { ...options, share: options.shares?.of(tenantId) };
    const fetch = boundedFetch('tool_server', shared);
    const briefFetch = boundedFetch('tool_server', {
      ...shared,
      limits: { totalMs: options.briefMs ?? discoveryMs, ...options.limits },
    });
    if (connection?.dpopKey == null) {
      return { fetch, briefFetch };
    }
    const { accessToken, dpopKey } = connection;
    return {
      fetch: proofs.fetch(fetch, { accessToken, dpopKey }),
      briefFetch: proofs.fetch(briefFetch, { accessToken, dpopKey }),
    };
  };

  const removerOf = ({ secrets }: SentCredential): SecretRemover => {
    const place = JSON.stringify(secrets);
    const remover = removers.get(place) ?? new SecretRemover(secrets);
    removers.set(place, remover);
    return remover;
  };

  const inSession = async <T>(
    server: ToolServerSpec,
    { credential, signal, key, resumed, leavesOpen = false }: SessionOptions,
    work: (session: Session) => Promise<T>,
  ): Promise<T> => {
    const { headers, identity } = credential;
    const remover = removerOf(credential);
    const place = bindingOf(server, identity);
    const { fetch, call, rest } = watchedFetch({
      ...boundedFor(server, credential),
      headers,
      idempotencyKey: key,
    });
    const transport = new EndingTransport(new URL(server.url), {
      fetch,
      ...(resumed === null ? {} : { sessionId: resumed.id }),
      ...(resumed?.protocolVersion == null ? {} : { protocolVersion: resumed.protocolVersion }),
    });
    const client = new Client(
      { name: 'platform', version: '1' },
      {
        capabilities: {},
        versionNegotiation: { mode: 'auto' },
        inputRequired: { autoFulfill: false },
        jsonSchemaValidator: noValidation,
      },
    );
    try {
      const prior = resumed === null ? eras.get(place) : { kind: 'legacy' as const };
      await client.connect(transport, {
        signal,
        timeout: discoveryMs,
        ...(prior === undefined ? {} : { prior }),
      });
      const discover = client.getDiscoverResult();
      eras.set(place, discover === undefined ? { kind: 'legacy' } : { kind: 'modern', discover });
      return await work({ client, transport, call, place, remover });
    } catch (error) {
      if (error instanceof ConfirmFailed) {
        throw error.cause;
      }
      eras.delete(place);
      lists.delete(place);
      // A local failure after a call was sent does not undo the call.
      const failure = toServerFailure(error, call.sent ? call : rest);
      if (failure.code === 'unauthorized' && server.stored !== undefined) {
        options.stored?.refused(server.stored);
      }
      throw failure;
    } finally {
      // A session that cannot be terminated expires at the server; nothing waits for it.
      void (leavesOpen || resumed !== null ? Promise.resolve() : transport.terminateSession())
        .catch(() => undefined)
        .then(() => client.close())
        .catch(() => undefined);
    }
  };

  const list = async ({ client, place }: Session, signal: AbortSignal): Promise<Tool[]> => {
    const known = lists.get(place);
    if (known !== undefined) {
      return known;
    }
    const late = AbortSignal.timeout(discoveryMs);
    const tools = await listTools(client, {
      signal: AbortSignal.any([signal, late]),
      timeout: discoveryMs,
    }).catch((error: unknown) => {
      throw late.aborted ? new ToolServerFailure('timeout', { sent: false }) : error;
    });
    lists.set(place, tools);
    return tools;
  };

  const openSession = (server: ToolServerSpec, credential: SentCredential, signal: AbortSignal) =>
    inSession(
      server,
      { credential, signal, key: null, resumed: null, leavesOpen: true },
      ({ transport, remover, place: bound }): Promise<ServerSession | null> => {
        const { sessionId: id, protocolVersion = null } = transport;
        // A session id that contains the sent credential is not stored.
        return Promise.resolve(
          id === undefined || remover.text(id) !== id ? null : { id, protocolVersion, bound },
        );
      },
    );

  const callIn = async (
    server: ToolServerSpec,
    call: OutgoingCall,
    { credential, signal, resumed, confirm }: CallAttempt,
  ): Promise<ToolReply> =>
    inSession(server, { credential, signal, key: call.idempotencyKey, resumed }, async (session) => {
      const tools = await list(session, signal);
      const tool = tools.find(({ name }) => name === call.tool);
      const [found] = tool === undefined ? [] : toDiscovered([tool], session.remover);
      const isOther = found === undefined || schemaHash(found) !== call.schemaHash;
      if (tool === undefined || isOther || found.requiresTask === true) {
        lists.delete(session.place);
        return { kind: 'changed', ...toolList(tools, session, credential) };
      }
      const confirmed = await confirm().catch((cause: unknown) => {
        throw new ConfirmFailed('not confirmed', { cause });
      });
      if (!confirmed) {
        return { kind: 'unconfirmed' };
      }
      const reply = await callTool(session, { call, tool, signal });
      return 'text' in reply ? { ...reply, text: session.remover.text(reply.text) } : reply;
    });

  /** Without a connection the server is asked all the same: its refusal says where to authorize. */
  const discoveryCredential = async (server: ToolServerSpec): Promise<SentCredential> => {
    try {
      return await credentialOf(server, options);
    } catch (error) {
      if (error instanceof ToolServerFailure && error.code === 'authorization_required') {
        return { headers: {}, identity: null, secrets: [] };
      }
      throw error;
    }
  };

  return {
    discover: async (server, signal) => {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(discoveryMs)]);
      return withRenewal(server, await discoveryCredential(server), options, (credential) =>
        inSession(server, { credential, signal: bounded, key: null, resumed: null }, async (session) => {
          lists.delete(session.place);
          return toolList(await list(session, bounded), session, credential);
        }),
      );
    },
    call: async (server, call, { signal, session, confirm, retryRead }) => {
      const present = await credentialOf(server, options, retryRead);
      return withRenewal(server, present, options, async (credential) => {
        const bound = bindingOf(server, credential.identity);
        const acquire = (lost: string | null) =>
          sessions.acquire(session, { bound, lost, open: () => openSession(server, credential, signal) });
        const resumed = await acquire(null);
        try {
          return await callIn(server, call, { credential, signal, resumed, confirm });
        } catch (error) {
          if (resumed === null || !isForgotten(error)) {
            throw error;
          }
          return callIn(server, call, { credential, signal, resumed: await acquire(resumed.id), confirm });
        }
      });
    },
    prepare: async (server) => {
      if (server.connection !== undefined) {
        await credentialOf(server, options).catch(() => undefined);
      }
    },
    endSession: async (server, stored) => {
      const credential = await credentialOf(server, options);
      const { headers, identity } = credential;
      const resumed = parse(stored);
      if (resumed?.bound !== bindingOf(server, identity)) {
        return;
      }
      const { fetch } = watchedFetch({ ...boundedFor(server, credential), headers, idempotencyKey: null });
      const transport = new EndingTransport(new URL(server.url), { fetch, sessionId: resumed.id });
      await transport.start();
      try {
        await transport.terminateSession();
      } finally {
        await transport.close();
      }
    },
  };
}

/** A server answers so when it does not know the session: it refused the request before it did anything. */
function isForgotten(error: unknown): boolean {
  return error instanceof ToolServerFailure && !error.sent && error.status === 404;
}

/** Lists all pages: a resumed session does not know the server's capabilities from initialisation. */
async function listTools(client: Client, options: { signal: AbortSignal; timeout: number }): Promise<Tool[]> {
  if (client.getServerCapabilities() !== undefined) {
    return (await client.listTools(undefined, { ...options, cacheMode: 'bypass' })).tools;
  }
  const tools: Tool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const found = await client.request({ method: 'tools/list', params }, options);
    tools.push(...found.tools);
    cursor = found.nextCursor;
    if (cursor === undefined) {
      break;
    }
  }
  return tools;
}

async function callTool(
  { client, transport, call: wire, remover }: Session,
  { call, tool, signal }: { call: OutgoingCall; tool: Tool; signal: AbortSignal },
): Promise<ToolReply> {
  // The client would treat a result that does not fit this schema as a failure, although the tool has done its work.
  const { outputSchema: _outputSchema, ...toolDefinition } = tool;
  const failure: unknown = await client
    .callTool(
      {
        name: call.tool,
        arguments: call.arguments,
        _meta: { 'idempotency-key': call.idempotencyKey },
      },
      {
        signal,
        timeout: idleMs,
        resetTimeoutOnProgress: true,
        maxTotalTimeout: maxCallMs,
        onprogress: () => undefined,
        toolDefinition,
      },
    )
    .then(
      () => null,
      (error: unknown) => error,
    );
  const { lastResult, endedSilently } = transport;
  const reply = replyIn({ failure, wire, lastResult, endedSilently, remover });
  if (reply === null) {
    throw toServerFailure(failure, wire);
  }
  if (reply.kind !== 'succeeded' || lastResult === undefined) {
    return reply;
  }
  const misfit = misfitOf(tool.outputSchema, toRecord(lastResult));
  return misfit === null ? reply : { ...reply, misfit };
}

function toolList(tools: readonly Tool[], { remover }: Session, { connection }: SentCredential): ToolList {
  return { tools: toDiscovered(tools, remover), connectionId: connection?.connectionId ?? null };
}

/** Removes from a server's descriptions any secret that was sent to it. */
function toDiscovered(tools: readonly Tool[], remover: SecretRemover): DiscoveredTool[] {
  return tools.map((tool) =>
    remover.value({
      name: cleanText(tool.name),
      title: tool.title === undefined ? null : cleanText(tool.title).slice(0, 200),
      description: cleanText(tool.description ?? '').slice(0, maxTextLength),
      inputSchema: tool.inputSchema,
      outputSchema: tool.outputSchema ?? null,
      annotations: tool.annotations === undefined ? null : { ...tool.annotations },
      requiresTask: tool.execution?.taskSupport === 'required',
    }),
  );
}
