/** Stands in for the demo data: a key that is reused when it is known, and a row per start. */
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';

const client = new Client({ connectionString: process.env['DATABASE_ADMIN_URL'] });
await client.connect();
await client.query('insert into started default values');
const { rows } = await client.query<{ starts: number }>('select count(*)::int as starts from started');
await client.end();
process.stderr.write(`starts: ${String(rows[0]?.starts)}\n`);
const apiKey = process.env['DEMO_API_KEY'] ?? `ak.${randomUUID()}.secret`;
process.stdout.write(
  `${JSON.stringify({ tenant_id: 't', space_id: 'space-1', collection_id: 'c', api_key: apiKey, model_alias: 'm' })}\n`,
);
