import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers in place of the server; anything but true: the server answers. */
export type Interception = (incoming: IncomingMessage, answer: ServerResponse) => boolean;

export interface HttpRelay {
  origin: string;
  requests: () => number;
  /** Null: every request reaches the server. */
  intercept: (interception: Interception | null) => void;
  close(): Promise<void>;
}

/** Stands before a server of a source: counts what it answers, and can answer in its place. */
export async function startHttpRelay(targetPort: () => number): Promise<HttpRelay> {
  let count = 0;
  let interception: Interception | null = null;
  const server = createServer((incoming, answer) => {
    count += 1;
    if (interception?.(incoming, answer) === true) {
      incoming.resume();
      return;
    }
    const { method, url, headers } = incoming;
    const forwarded = request({ host: '127.0.0.1', port: targetPort(), method, path: url, headers });
    forwarded.on('error', () => answer.destroy());
    forwarded.on('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, response.rawHeaders);
      answer.flushHeaders();
      response.on('error', () => answer.destroy());
      response.pipe(answer);
    });
    answer.on('close', () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => count,
    intercept: (next) => {
      interception = next;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
