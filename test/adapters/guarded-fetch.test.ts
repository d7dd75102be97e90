import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { buildConnector } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { EgressRefused, isPublic } from '#adapters/egress/public-address.ts';

const server = createServer((_request, response) => response.end('here'));
let origin: string;
let requests = 0;

beforeAll(async () => {
  server.on('request', () => (requests += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

/**
 * A name server whose answer changes from one query to the next, and a network that records dialled
 * addresses.
 */
function rebinding(answers: string[]) {
  const asked: string[] = [];
  const dialled: { hostname: string; servername: string | undefined }[] = [];
  const connect: buildConnector.connector = ({ hostname, servername }, callback) => {
    dialled.push({ hostname, servername });
    callback(new Error('no network'), null);
  };
  const fetch = createGuardedFetch([], {
    connect,
    resolve: (hostname, done) => {
      asked.push(hostname);
      done(null, [{ address: answers[Math.min(asked.length, answers.length) - 1]! }]);
    },
  });
  return { fetch, asked, dialled };
}

describe('egress', () => {
  it('resolves a name once and dials exactly the address that it checked, under the name’s certificate', async () => {
    const { fetch, asked, dialled } = rebinding(['93.184.215.14', '127.0.0.1']);
    await expect(fetch('https://tools.example.com/mcp')).rejects.toThrow('fetch failed');
    expect(asked).toEqual(['tools.example.com']);
    expect(dialled).toEqual([{ hostname: '93.184.215.14', servername: 'tools.example.com' }]);
  });

  it.each([
    '127.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '168.63.129.16',
    '::1',
    '::ffff:127.0.0.1',
    '::127.0.0.1',
    'fd00::1',
    'fe80::1',
    '64:ff9b::7f00:1',
  ])('dials no address when a name leads to %s', async (address) => {
    expect(isPublic(address)).toBe(false);
    const { fetch, dialled } = rebinding([address]);
    await expect(fetch('https://tools.example.com/')).rejects.toMatchObject({
      cause: expect.any(EgressRefused) as Error,
    });
    expect(dialled).toEqual([]);
  });

  it('reaches a private address only as the exact origin that the operator listed', async () => {
    const fetch = createGuardedFetch([origin]);
    expect(await (await fetch(`${origin}/any`)).text()).toBe('here');
    const before = requests;
    for (const other of [
      origin.replace('127.0.0.1', 'localhost'),
      origin.replace('http:', 'https:'),
      origin.replace('http://', 'http://user@'),
      origin.replace(/\d+$/, '1'),
      'http://example.com/',
    ]) {
      await expect(fetch(other), other).rejects.toThrow();
    }
    expect(requests).toBe(before);
  });
});
