import {
  Client,
  ProtocolError,
  StreamableHTTPClientTransport,
  type Tool,
} from '@modelcontextprotocol/client';
import type { JsonSchemaValidator, jsonSchemaValidator, PriorDiscovery } from '@modelcontextprotocol/client';
import { LRUCache } from 'lru-cache';
import { cleanText } from '#domain/kernel/clean-text.ts';
import {
  schemaHash,
  type DiscoveredTool,
  type OutgoingCall,
  type ToolReply,
  type ToolServerGateway,
  type ToolServerSpec,
} from '#domain/tools/tool-server.ts';
import { serverCredential } from './server-credential.ts';
import { resultText } from './tool-result.ts';
import { toServerFailure } from './tool-failures.ts';
import { watchedFetch, type Wire } from './watched-fetch.ts';

export interface ToolClientOptions {
  fetch: typeof globalThis.fetch;
  /** `NAME@origin` and `NAME@origin#space_id` entries; see `serverCredential`. */
  credentials: readonly string[];
  env: Record<string, string | undefined>;
}

const discoveryMs = 30_000;
/** Longest silence of a tool that runs; progress notifications count. */
const idleMs = 60_000;
const longestCallMs = 9 * 60_000;
/** How long a server's list is taken as its present one, so that a round of calls reads it once. */
const listFreshMs = 5_000;
const mostBytes = 4 * 1_048_576;
const mostTools = 512;
const longestText = 16_384;

/** Definitions come from outside: no schema of theirs is ever compiled here. */
const noValidation: jsonSchemaValidator = {
  getValidator:
    <T>(): JsonSchemaValidator<T> =>
    (input) => ({ valid: true, data: input as T, errorMessage: undefined }),
};

interface Session {
  client: Client;
  wire: Wire;
}

/** Tool servers over Streamable HTTP, in both revisions of the protocol. Nothing is retried here. */
export function createToolServers(options: ToolClientOptions): ToolServerGateway {
  const eras = new LRUCache<string, PriorDiscovery>({ max: 500, ttl: 300_000 });
  const lists = new LRUCache<string, Tool[]>({ max: 500, ttl: listFreshMs });

  const inSession = async <T>(
    server: ToolServerSpec,
    { signal, key }: { signal: AbortSignal; key: string | null },
    work: (session: Session) => Promise<T>,
  ): Promise<T> => {
    const headers = serverCredential(server, options);
    const place = JSON.stringify(server);
    const { fetch, wire } = watchedFetch({
      fetch: options.fetch,
      headers,
      idempotencyKey: key,
      bytes: mostBytes,
    });
    const transport = new StreamableHTTPClientTransport(new URL(server.url), { fetch });
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
      const prior = eras.get(place);
      await client.connect(transport, {
        signal,
        timeout: discoveryMs,
        ...(prior === undefined ? {} : { prior }),
      });
      const discover = client.getDiscoverResult();
      eras.set(place, discover === undefined ? { kind: 'legacy' } : { kind: 'modern', discover });
      return await work({ client, wire });
    } catch (error) {
      eras.delete(place);
      lists.delete(place);
      throw toServerFailure(error, wire);
    } finally {
      // A session that cannot be ended ends by itself; nobody waits for it.
      void transport
        .terminateSession()
        .catch(() => undefined)
        .then(() => client.close())
        .catch(() => undefined);
    }
  };

  const list = async (server: ToolServerSpec, { client }: Session, signal: AbortSignal): Promise<Tool[]> => {
    const place = JSON.stringify(server);
    const known = lists.get(place);
    if (known !== undefined) {
      return known;
    }
    const { tools } = await client.listTools(undefined, {
      signal,
      timeout: discoveryMs,
      cacheMode: 'bypass',
    });
    lists.set(place, tools);
    return tools;
  };

  return {
    discover: (server, signal) => {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(discoveryMs)]);
      return inSession(server, { signal: bounded, key: null }, async (session) => {
        lists.delete(JSON.stringify(server));
        return (await list(server, session, bounded)).slice(0, mostTools).map(toDiscovered);
      });
    },
    call: (server, call, signal) =>
      inSession(server, { signal, key: call.idempotencyKey }, async (session): Promise<ToolReply> => {
        const tools = await list(server, session, signal);
        const tool = tools.find(({ name }) => name === call.tool);
        if (tool === undefined || schemaHash(toDiscovered(tool)) !== call.schemaHash) {
          lists.delete(JSON.stringify(server));
          return { kind: 'changed', tools: tools.slice(0, mostTools).map(toDiscovered) };
        }
        return callTool(session, { call, tool, signal });
      }),
  };
}

async function callTool(
  { client }: Session,
  { call, tool, signal }: { call: OutgoingCall; tool: Tool; signal: AbortSignal },
): Promise<ToolReply> {
  try {
    const result = await client.callTool(
      {
        name: call.tool,
        arguments: call.arguments,
        _meta: { 'idempotency-key': call.idempotencyKey },
      },
      {
        signal,
        timeout: idleMs,
        resetTimeoutOnProgress: true,
        maxTotalTimeout: longestCallMs,
        onprogress: () => undefined,
        toolDefinition: tool,
      },
    );
    const text = resultText(result);
    return result.isError === true
      ? { kind: 'failed', error: 'mcp_tool_execution_error', code: 0, text }
      : { kind: 'succeeded', text };
  } catch (error) {
    if (error instanceof ProtocolError) {
      const text = cleanText(error.message).slice(0, longestText);
      return { kind: 'failed', error: 'mcp_protocol_error', code: error.code, text };
    }
    throw error;
  }
}

function toDiscovered(tool: Tool): DiscoveredTool {
  return {
    name: cleanText(tool.name),
    title: tool.title === undefined ? null : cleanText(tool.title).slice(0, 200),
    description: cleanText(tool.description ?? '').slice(0, longestText),
    inputSchema: tool.inputSchema,
    annotations: tool.annotations === undefined ? null : { ...tool.annotations },
  };
}
