import { createServer, type Server } from 'node:http';
import { instanceHeaders } from '#domain/foundation/kernel/instance-header.ts';
import type { Missing } from './polling.ts';

export interface HealthOptions {
  instanceId: string | undefined;
  /** Servers whose absence keeps the worker from taking work. */
  missing: () => readonly Missing[];
  scrape: () => Promise<string>;
}

/** `/readyz` reports whether the worker takes work, and which server is missing; `/metrics` is for Prometheus. */
export function createHealthServer({ instanceId, missing, scrape }: HealthOptions): Server {
  const answer = async (path: string): Promise<{ status: number; text: string }> => {
    switch (path) {
      case '/healthz':
        return { status: 200, text: 'ok\n' };
      case '/readyz':
        return missing().length === 0
          ? { status: 200, text: 'ok\n' }
          : { status: 503, text: `${missing().join(' ')}\n` };
      case '/metrics':
        return { status: 200, text: await scrape() };
      default:
        return { status: 404, text: 'not found\n' };
    }
  };
  return createServer((request, response) => {
    void answer(request.url ?? '/').then(({ status, text }) =>
      response.writeHead(status, instanceHeaders(instanceId)).end(text),
    );
  });
}
