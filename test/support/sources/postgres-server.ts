import { randomBytes } from 'node:crypto';
import { Client, Pool, escapeIdentifier } from 'pg';
import { inject } from 'vitest';
import { createDatabase, dropDatabase } from '../database-admin.ts';
import { databaseUrl } from '../database-urls.ts';
import { startPostgresRelay } from '../postgres-relay.ts';
import type { SourceServer } from './source-server.ts';

export interface PostgresServer extends SourceServer {
  /** As the owner of the table. */
  sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  renewCredential(): Promise<{ kind: 'basic'; username: string; password: string }>;
  port: number;
}

const table = `create table articles (
  id text primary key, title text, body text, updated_at timestamptz not null default clock_timestamp(), readers text[])`;

/** A database with the table `articles`, read by a role of its own, on the run's server behind a relay. */
export async function startPostgresServer(adminUrl = inject('postgres').adminUrl): Promise<PostgresServer> {
  const name = `source_${randomBytes(6).toString('hex')}`;
  await createDatabase(adminUrl, { name });
  const owner = new Pool({ connectionString: databaseUrl(adminUrl, name), max: 4 });
  const sql = async (text: string, values: unknown[] = []) =>
    (await owner.query<Record<string, unknown>>(text, values)).rows;
  let credential = newCredential(name);
  const role = escapeIdentifier(credential.username);
  await sql(table);
  await sql(`create role ${role} login password '${credential.password}'`);
  await sql(`grant select on articles to ${role}`);

  let requests = 0;
  const relay = await startPostgresRelay(databaseUrl(adminUrl, name), {
    fromClient: (to) => (chunk) => {
      requests += 1;
      to.write(chunk);
    },
  });
  const port = Number(new URL(relay.url).port);
  const origin = `postgres://127.0.0.1:${port}`;
  return {
    slug: 'postgres',
    scopeConfig: {
      host: '127.0.0.1',
      port,
      database: name,
      ssl: 'off',
      table: 'articles',
      key: 'id',
      title: 'title',
      body: ['body'],
      updated_at: 'updated_at',
    },
    credential: { origin, value: credential },
    allowedOrigins: [origin],
    roots: {},
    port,
    sql,
    put: async (key, content) => {
      await sql(
        `insert into articles (id, title, body) values ($1, $1, $2)
         on conflict (id) do update set body = excluded.body, updated_at = clock_timestamp()`,
        [key, Buffer.from(content).toString()],
      );
    },
    move: async (from, to) => {
      await sql('update articles set id = $2, title = $2, updated_at = clock_timestamp() where id = $1', [
        from,
        to,
      ]);
    },
    remove: async (key) => {
      await sql('delete from articles where id = $1', [key]);
    },
    renewCredential: async () => {
      credential = { ...newCredential(name), username: credential.username };
      await sql(`alter role ${role} password '${credential.password}'`);
      relay.sever();
      relay.mend();
      return credential;
    },
    requests: () => requests,
    stop: async () => relay.sever(),
    start: async () => relay.mend(),
    close: async () => {
      await relay.close();
      await owner.end();
      await dropDatabase(adminUrl, name);
      await dropRole(adminUrl, role);
    },
  };
}

function newCredential(name: string) {
  return { kind: 'basic' as const, username: `reader_${name}`, password: randomBytes(12).toString('hex') };
}

async function dropRole(adminUrl: string, role: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl });
  await client.connect();
  await client.query(`drop role ${role}`);
  await client.end();
}
