import { expect, it } from 'vitest';
import { EgressRefused } from '#adapters/egress/public-address.ts';
import { watchedFetch } from '#adapters/tools/watched-fetch.ts';

const system = (syscall: string, code: string) => Object.assign(new Error(code), { syscall, code });

/** Whether a tool call whose request fails like this may have been sent. */
async function sentAfter(cause: Error): Promise<boolean> {
  const { fetch, call } = watchedFetch({
    fetch: () => Promise.reject(new TypeError('fetch failed', { cause })),
    briefFetch: () => Promise.reject(new Error('This is no call.')),
    headers: {},
    idempotencyKey: 'key',
  });
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call' });
  await expect(fetch('https://tools.example.com', { method: 'POST', body })).rejects.toThrow('fetch failed');
  return call.sent;
}

it.each([
  ['was refused', system('connect', 'ECONNREFUSED')],
  ['found no way', system('connect', 'EHOSTUNREACH')],
  ['timed out at every address', new AggregateError([system('connect', 'ETIMEDOUT')])],
  ['timed out', Object.assign(new Error('timeout'), { code: 'UND_ERR_CONNECT_TIMEOUT' })],
  ['found no name', system('getaddrinfo', 'ENOTFOUND')],
  ['got no answer of a name server', system('queryA', 'ETIMEOUT')],
  ['was not allowed', new EgressRefused()],
])('a call whose connection %s was not sent', async (_how, cause) => {
  expect(await sentAfter(cause)).toBe(false);
});

it.each([
  ['timed out', system('read', 'ETIMEDOUT')],
  ['lost its way', system('read', 'EHOSTUNREACH')],
  ['was reset', system('read', 'ECONNRESET')],
  ['was closed', Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' })],
])('a call whose connection %s while it waited may have been made', async (_how, cause) => {
  expect(await sentAfter(cause)).toBe(true);
});
