import type { Client } from 'pg';
import { expect, it } from 'vitest';
import { requireVersion } from '#domain/persistence/migrate.ts';

const server = (version: string) =>
  ({ query: async () => ({ rows: [{ version }] }) }) as unknown as Pick<Client, 'query'>;

it.each(['PostgreSQL 17.6 on x86_64-pc-linux-gnu', 'PostgreSQL 9.6.24', 'CockroachDB CCL v25.1'])(
  'a migration refuses %s before it changes anything',
  async (version) => {
    await expect(requireVersion(server(version))).rejects.toThrow('PostgreSQL 18 or newer is needed');
  },
);

it.each(['PostgreSQL 18.4 (Debian 18.4-1.pgdg13+1) on x86_64', 'PostgreSQL 19beta1 on aarch64'])(
  'a migration works on %s',
  async (version) => {
    await expect(requireVersion(server(version))).resolves.toBeUndefined();
  },
);
