import { expect, it } from 'vitest';
import { childEnvironments } from '../../bin/launcher/child-environment.ts';
import { readSettings } from '../../bin/launcher/settings.ts';

it.each([
  ['no host, which could name no user', 'postgres:///platform?host=/run/postgresql'],
  ['another protocol', 'mysql://root@127.0.0.1/platform'],
  ['no URL', 'localhost:5432'],
])('a DATABASE_URL with %s is refused', (_, address) => {
  expect(() => readSettings({ DATABASE_URL: address }, [], '/checkout')).toThrow(
    'DATABASE_URL is not a URL of the form postgres://user:password@host:port/database.',
  );
});

it('connection options of an address apply to every role', () => {
  const address = 'postgres://boss:word@db.example:6432/platform?sslmode=verify-full&host=/run/postgresql';
  const settings = readSettings({ DATABASE_URL: address }, [], '/checkout');
  const { gateway, worker, demo, migrate } = childEnvironments({
    env: {},
    settings,
    data: {
      path: '/checkout/.data',
      masterKey: '',
      passwords: { runtime: 'r', purge: 'p', verifier: 'v' },
    },
    adminUrl: address,
    temporal: { address: '127.0.0.1:7233', uiUrl: undefined },
    ollamaUrl: undefined,
    provider: undefined,
  });
  const asked = 'db.example:6432/platform?sslmode=verify-full&host=/run/postgresql';
  expect(gateway['DATABASE_URL']).toBe(`postgres://app_rt:r@${asked}`);
  expect(worker['DATABASE_PURGE_URL']).toBe(`postgres://app_purge:p@${asked}`);
  expect(migrate['DATABASE_VERIFIER_URL']).toBe(`postgres://app_verifier:v@${asked}`);
  expect(demo['DATABASE_ADMIN_URL']).toBe(address);
  expect(migrate['DATABASE_ADMIN_URL']).toBe(address);
  for (const runtime of [gateway, worker]) {
    expect(runtime['DATABASE_ADMIN_URL']).toBeUndefined();
  }
});
