import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import { stampedToken } from '../support/stamps.ts';

/** One commit with NOTIFY for each token: the minimum cost of a durable stream for its writer. */
const pool = new Pool({ connectionString: process.env['DATABASE_URL']!, max: 50 });
await pool.query('create table if not exists floor (stream int, n int, token text, primary key (stream, n))');
let streams = 0;

interface Asked {
  count: number;
  tokens: number;
  paceMs: number;
}

async function write(stream: number, tokens: number, paceMs: number): Promise<void> {
  await sleep(Math.random() * paceMs);
  const commits: Promise<unknown>[] = [];
  for (let n = 0; n < tokens; n += 1) {
    await sleep(paceMs);
    commits.push(
      pool.query({
        name: 'append',
        text: `with appended as (insert into floor values ($1, $2, $3) returning stream, n)
          select pg_notify('floor', stream || ':' || n) from appended`,
        values: [stream, n, stampedToken()],
      }),
    );
  }
  await Promise.all(commits);
}

console.log(JSON.stringify({ ready: true }));
createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { count, tokens, paceMs } = JSON.parse(line) as Asked;
    const writes = Array.from({ length: count }, () => write((streams += 1), tokens, paceMs));
    void Promise.all(writes).then(() => console.log(JSON.stringify({ done: true })));
  })
  .on('close', () => process.exit());
