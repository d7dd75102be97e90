import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { inject } from 'vitest';
import { createDatabase, dropDatabase } from '../support/database-admin.ts';
import { databaseUrl, withRole } from '../support/database-urls.ts';
import { connect } from '../support/tables.ts';
import type { Held, Identities, Readings } from './readings.ts';

export const folder = new URL('baseline/', import.meta.url);

/** Expectations stored beside the dump. */
export interface Expected {
  recordedAt: string;
  tenantId: string;
  held: Held;
  /** Keys and a token of the fixture's principals; they are valid nowhere else. */
  identities: Identities;
  runningText: string;
  readings: Readings;
}

export interface Restored {
  adminUrl: string;
  url: string;
  purgeUrl: string;
  drop(): Promise<void>;
}

const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8');

export const expected = (): Expected => JSON.parse(read('expected.json')) as Expected;

/** Restores the baseline with its populated tenant into an empty database, as from a dump. */
export async function restoreBaseline(): Promise<Restored> {
  const server = inject('postgres');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await createDatabase(server.adminUrl, { name });
  const adminUrl = databaseUrl(server.adminUrl, name);
  const admin = await connect(adminUrl);
  try {
    // The migrator runs this file before every migration.
    const roles = new URL('../../domain/operations/schema/roles.sql', import.meta.url);
    await admin.query(readFileSync(roles, 'utf8'));
    await admin.query(read('schema.sql'));
    await admin.query(`begin; set local session_replication_role = replica`);
    await admin.query(read('data.sql'));
    await admin.query(moveExpiries(expected().recordedAt));
    await admin.query('commit');
    await admin.query(
      `select setval('mikro_orm_migrations_id_seq', (select max(id) from mikro_orm_migrations))`,
    );
  } finally {
    await admin.end();
  }
  return {
    adminUrl,
    url: withRole(adminUrl, 'app_rt', server.rolePassword),
    purgeUrl: withRole(adminUrl, 'app_purge', server.rolePassword),
    drop: () => dropDatabase(server.adminUrl, name),
  };
}

/** Moves each expiry by the time since the recording, so that the remaining time stays the same. */
function moveExpiries(recordedAt: string): string {
  return `do $$ declare c record; begin
    for c in select a.attrelid::regclass as t, quote_ident(a.attname) as name from pg_attribute a join pg_class r on r.oid = a.attrelid
        where r.relnamespace = 'public'::regnamespace and r.relkind in ('r', 'p') and not r.relispartition
          and a.attname in ('expires_at', 'deadline_at', 'leased_until') loop
      execute format('update %s set %s = %s + (now() - %L::timestamptz)', c.t, c.name, c.name, '${recordedAt}');
    end loop;
  end $$`;
}
