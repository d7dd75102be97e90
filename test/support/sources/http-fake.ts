import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { startRestartable } from './restartable-server.ts';

export type Interference = (request: IncomingMessage, response: ServerResponse) => boolean | undefined;

/** An HTTP server of a source in this process, which can be stopped, and whose answers a test can replace. */
export interface HttpFake {
  origin: string;
  requests(): number;
  /** Answers a request itself where it returns true. */
  interfere(with_: Interference | null): void;
  stop(): Promise<void>;
  start(): Promise<void>;
}

export async function startHttpFake(
  serve: (request: Request) => Promise<Response> | Response,
): Promise<HttpFake> {
  let requests = 0;
  let interference: Interference | null = null;
  const answer = async (incoming: IncomingMessage, response: ServerResponse) => {
    requests += 1;
    if (interference?.(incoming, response) === true) {
      incoming.resume();
      return;
    }
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    const headers = new Headers();
    for (const [name, value] of Object.entries(incoming.headers)) headers.set(name, String(value));
    const made = await serve(
      new Request(new URL(incoming.url ?? '/', origin), {
        method: incoming.method ?? 'GET',
        headers,
        ...(parts.length > 0 && { body: Buffer.concat(parts) }),
      }),
    );
    response.writeHead(made.status, Object.fromEntries(made.headers));
    if (made.headers.get('content-type')?.startsWith('text/event-stream') === true && made.body !== null) {
      response.flushHeaders();
      await pipeline(Readable.fromWeb(made.body), response).catch(() => {});
      return;
    }
    response.end(Buffer.from(await made.arrayBuffer()));
  };
  const { origin, start, stop } = await startRestartable((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => {
      response.destroy(error instanceof Error ? error : undefined);
    });
  });
  return {
    origin,
    requests: () => requests,
    interfere: (with_) => {
      interference = with_;
    },
    start,
    stop,
  };
}
