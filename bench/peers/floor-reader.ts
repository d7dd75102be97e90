import { createInterface } from 'node:readline';
import { Client, Pool } from 'pg';
import { agesOf, now } from '../support/stamps.ts';

/** One indexed read for each notification; the token has arrived when the row is here. */
const url = process.env['DATABASE_URL']!;
const pool = new Pool({ connectionString: url, max: 6 });
const listener = new Client({ connectionString: url });
await listener.connect();
let ages: number[] = [];
listener.on('notification', ({ payload = '' }) => {
  const [stream, n] = payload.split(':').map(Number);
  void pool
    .query<{ token: string }>({
      name: 'read',
      text: 'select token from floor where stream = $1 and n = $2',
      values: [stream, n],
    })
    .then(({ rows }) => ages.push(...agesOf(rows[0]?.token ?? '', now())));
});
await listener.query('listen floor');
console.log(JSON.stringify({ ready: true }));
createInterface({ input: process.stdin })
  .on('line', () => {
    console.log(JSON.stringify({ ages }));
    ages = [];
  })
  .on('close', () => process.exit());
