import { once } from 'node:events';
import { createServer, request as forward, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { buffer } from 'node:stream/consumers';

export interface CountingRelay {
  origin: string;
  /** How often the content of each document was asked for since the last call. */
  take(): Map<string, number>;
  close(): Promise<void>;
}

/** Stands before the server of a source: counts requests for contents, and answers each of them a little later. */
export async function startCountingRelay(target: string, delayMs: number): Promise<CountingRelay> {
  let counts = new Map<string, number>();
  const server = createServer((incoming, answer) => {
    void (async () => {
      const body = await buffer(incoming);
      const content = contentOf(incoming, body);
      if (content !== null) {
        counts.set(content, (counts.get(content) ?? 0) + 1);
        await sleep(delayMs);
      }
      const { method, url, headers } = incoming;
      const onward = forward(new URL(url ?? '/', target), { method, headers }, (response) => {
        answer.writeHead(response.statusCode ?? 502, response.rawHeaders);
        response.on('error', () => answer.destroy());
        response.pipe(answer);
      });
      onward.on('error', () => answer.destroy());
      answer.on('close', () => onward.destroy());
      onward.end(body);
    })().catch(() => answer.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take: () => {
      const taken = counts;
      counts = new Map();
      return taken;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** What a request names whose answer is the content of a document: a path, or the id of an object of git. */
function contentOf({ method, url }: IncomingMessage, body: Buffer): string | null {
  if (url?.endsWith('/git-upload-pack') === true) {
    const text = body.toString('latin1');
    // A request for trees is of a commit, and without its history.
    return text.includes('deepen') ? null : (/want ([0-9a-f]+)/.exec(text)?.[1] ?? null);
  }
  return method === 'GET' && url?.includes('/info/refs') !== true ? (url ?? null) : null;
}
