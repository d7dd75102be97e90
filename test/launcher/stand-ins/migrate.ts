/** Stands in for the migrations: one table in the real database. */
import { Client } from 'pg';

const client = new Client({ connectionString: process.env['DATABASE_ADMIN_URL'] });
await client.connect();
await client.query('create table if not exists started (at timestamptz not null default now())');
await client.end();
