import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createPresidio } from '#adapters/governance/presidio.ts';
import { RecogniserBusy } from '#domain/governance/redaction/found-names.ts';

const limits = { slots: 3, slotsPerKey: 2, waitersPerKey: 1, waitMs: 5_000 };
const never = new AbortController().signal;

/** Requests that the server has not answered yet. */
const open: ServerResponse[] = [];
const server = createServer((_request, response) => {
  open.push(response);
  response.once('close', () => open.splice(open.indexOf(response), 1));
});
let url: string;

beforeEach(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const presidio = () => createPresidio({ fetch: createGuardedFetch([url]) }, limits);
const answer = () => open[0]?.writeHead(200, { 'content-type': 'application/json' }).end('[]');

describe('the searches of a process for names', () => {
  it('are few for each tenant, and a tenant with too many is refused while another has its place', async () => {
    const names = presidio();
    const find = (tenantId: string) => names.find(url, 'en', ['Ada'], { tenantId, signal: never });
    const hostile = Promise.allSettled(Array.from({ length: 20 }, () => find('hostile')));
    await vi.waitFor(() => expect(open).toHaveLength(2));
    const other = find('other');
    await vi.waitFor(() => expect(open).toHaveLength(3));
    const answering = setInterval(answer, 10);
    const results = await hostile.finally(() => clearInterval(answering));
    expect(await other).toEqual([[]]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(RecogniserBusy);
    }
  });

  it('end with their signal, close the connection and give their place back', async () => {
    const names = presidio();
    const stop = new AbortController();
    const texts = Array.from({ length: 500 }, (_, index) => `text ${index}`);
    const searches = [1, 2].map(() => names.find(url, 'en', texts, { tenantId: 'a', signal: stop.signal }));
    const ended = Promise.allSettled(searches);
    await vi.waitFor(() => expect(open).toHaveLength(2));
    stop.abort(new Error('The client has left.'));
    expect((await ended).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await vi.waitFor(() => expect(open).toHaveLength(0));
    const next = names.find(url, 'en', ['Ada'], { tenantId: 'a', signal: never });
    await vi.waitFor(() => expect(open).toHaveLength(1));
    answer();
    expect(await next).toEqual([[]]);
  });
});
