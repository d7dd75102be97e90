import { expect, it } from 'vitest';
import { parseWorkerConfig } from '#domain/foundation/kernel/config.ts';
import { gatewayConfig } from '../../../support/gateway.ts';
import { masterKey } from '../../../support/stack.ts';

const read = (TRUSTED_PROXIES: string) =>
  gatewayConfig('postgres://app_rt@127.0.0.1/platform', { TRUSTED_PROXIES }).TRUSTED_PROXIES;

it.each(['', 'loopback', '10.0.0.9', '10.0.0.0/8, fd00::/8', 'uniquelocal,::1'])(
  'trusted proxies may be %j',
  (text) => {
    expect(read(text)).toEqual(text === '' ? [] : text.split(/, ?/));
  },
);

it.each(['everybody', '10.0.0', '10.0.0.0/33', '10.0.0.0/0', 'true', '::/129', 'https://10.0.0.9', '1/2/3'])(
  'trusted proxies that are %j are refused by the name of the variable, without their value',
  (text) => {
    expect(() => read(text)).toThrow(
      'The configuration is not usable:\n  TRUSTED_PROXIES: must be addresses, ranges, loopback, linklocal or uniquelocal, separated by commas',
    );
  },
);

it.each([
  'postgres://app_rt:p@db.example.com:5432/platform?sslmode=verify-full&sslrootcert=/etc/ca.pem',
  'postgresql://app_rt:p@localhost/platform?host=/run/postgresql',
])('a database may be at %s', (url) => {
  expect(gatewayConfig(url).DATABASE_URL).toBe(url);
});

it.each([
  ['postgres://app_rt:secret@localhost/platform?user=postgres', 'may have the parameters host, sslmode,'],
  [
    'postgres://app_rt:secret@localhost/platform?statement_timeout=0',
    'may have the parameters host, sslmode,',
  ],
  ['https://app_rt:secret@localhost/platform', 'must be postgres://user:password@host:port/database'],
  ['localhost:5432', 'must be postgres://user:password@host:port/database'],
])('a database at %s is refused, without its password', (url, problem) => {
  expect(() => gatewayConfig(url)).toThrow(`DATABASE_URL: ${problem}`);
  expect(() => gatewayConfig(url)).not.toThrow('secret');
});

const tracing = (TRACING_BASE_URL: string | undefined) =>
  parseWorkerConfig({
    DATABASE_URL: 'postgres://app_rt@127.0.0.1/platform',
    DATABASE_PURGE_URL: 'postgres://app_purge@127.0.0.1/platform',
    TEMPORAL_ADDRESS: '127.0.0.1:7233',
    MASTER_KEY: masterKey,
    TRACING_BASE_URL,
  }).TRACING_BASE_URL;

it('traces go to the address that is configured, and nowhere without one', () => {
  expect(tracing('https://traces.example.com')).toBe('https://traces.example.com');
  expect([tracing(''), tracing(undefined)]).toEqual([null, null]);
  expect(() => tracing('traces.example.com')).toThrow('TRACING_BASE_URL: must be an http(s) address');
});

const clientDocument = (MCP_CLIENT_DOCUMENT_URL: string) =>
  gatewayConfig('postgres://app_rt@127.0.0.1/platform', { MCP_CLIENT_DOCUMENT_URL }).MCP_CLIENT_DOCUMENT_URL;

it('the client document is where the operator says, spelt as every reader spells it', () => {
  expect(clientDocument('')).toBeNull();
  const url = 'https://apps.example.com/platform.json';
  expect(clientDocument(url)).toBe(url);
  for (const each of ['https://apps.example.com/{issuer}', 'https://apps.example.com/a?of={issuer}']) {
    expect(clientDocument(each)).toBe(each);
  }
  for (const wrong of [
    'http://apps.example.com/a',
    'https://apps.example.com',
    `${url}#a`,
    'https://apps.example.com/{client}',
    'https://A.b/c',
    'https://{issuer}.example.com/a',
  ]) {
    expect(() => clientDocument(wrong)).toThrow('MCP_CLIENT_DOCUMENT_URL: ');
  }
  expect(() => clientDocument('https://user@apps.example.com/a')).toThrow('without credentials');
});
