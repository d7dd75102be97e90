import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One JSON-RPC message that a client sent. */
export interface Asked {
  id?: number | string;
  method: string;
  params?: { name?: string; arguments?: Record<string, unknown>; [more: string]: unknown };
}

export type Answer = (asked: Asked, response: ServerResponse, request: IncomingMessage) => void;

export interface OddToolServer {
  url: string;
  origin: string;
  /** Calls that arrived, and so took effect, by their tools. */
  effects: string[];
  /** Every request, with its method. */
  requests: { method: string; headers: IncomingMessage['headers']; asked: Asked | null }[];
  stop(): Promise<void>;
}

export const answerJson = (response: ServerResponse, id: Asked['id'], result: unknown): void => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
};

/**
 * An MCP server of the revision 2025-11-25, byte by byte: each tool answers its calls directly, in ways that
 * no library allows. `before` may answer any request first.
 */
export async function startOddToolServer(
  tools: Record<string, { more?: object; answer: Answer }>,
  before: (asked: Asked | null, response: ServerResponse, request: IncomingMessage) => boolean = () => false,
): Promise<OddToolServer> {
  const effects: string[] = [];
  const requests: OddToolServer['requests'] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const asked = parts.length === 0 ? null : (JSON.parse(Buffer.concat(parts).toString()) as Asked);
    requests.push({ method: request.method ?? '', headers: request.headers, asked });
    if (before(asked, response, request)) return;
    if (asked === null) {
      response.writeHead(405).end();
      return;
    }
    switch (asked.method) {
      case 'initialize':
        answerJson(response, asked.id, {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'odd', version: '1' },
        });
        return;
      case 'tools/list':
        answerJson(response, asked.id, {
          tools: Object.entries(tools).map(([name, { more }]) => ({
            name,
            description: `Does ${name}.`,
            inputSchema: { type: 'object', properties: {} },
            ...more,
          })),
        });
        return;
      case 'tools/call': {
        const name = asked.params?.name ?? '';
        effects.push(name);
        tools[name]!.answer(asked, response, request);
        return;
      }
      default:
        response.writeHead(asked.id === undefined ? 202 : 400).end();
    }
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `${origin}/mcp`,
    origin,
    effects,
    requests,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
