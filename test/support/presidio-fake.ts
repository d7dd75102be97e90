import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';

export interface PresidioFake {
  url: string;
  origin: string;
  /** The bodies of all requests. */
  requests: { text: string; language: string; entities: string[]; score_threshold: number }[];
  /** The next answer, instead of the found names. */
  broken: { status: number; body: string } | null;
  stop(): Promise<void>;
}

/**
 * A Presidio analyzer that knows some names: offsets in Unicode characters, and an entity that was not
 * requested.
 */
export async function startPresidio(names: readonly string[]): Promise<PresidioFake> {
  const fake: PresidioFake = {
    url: '',
    origin: '',
    requests: [],
    broken: null,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  const server = createServer((request, response) => {
    void readText(request).then((body) => {
      if (fake.broken !== null || `${request.method} ${request.url}` !== 'POST /analyze') {
        response.writeHead(fake.broken?.status ?? 404).end(fake.broken?.body ?? '');
        return;
      }
      const asked = JSON.parse(body) as PresidioFake['requests'][number];
      fake.requests.push(asked);
      const found = names.flatMap((name) =>
        [...asked.text.matchAll(new RegExp(name, 'g'))].map((match) => {
          const start = Array.from(asked.text.slice(0, match.index)).length;
          return { entity_type: 'PERSON', start, end: start + Array.from(name).length, score: 0.85 };
        }),
      );
      const stray = { entity_type: 'DATE_TIME', start: 0, end: 1, score: 0.9, analysis_explanation: null };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify([...found, stray]));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  fake.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  fake.url = fake.origin;
  return fake;
}
