import { Client } from 'pg';

/** Rows of every table, by name, to check what a call changed. */
export async function countRows(admin: Client): Promise<Record<string, number>> {
  const { rows: tables } = await admin.query<{ name: string }>(
    `select c.relname as name from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`,
  );
  const counts = tables.map(({ name }) => `select '${name}' as name, count(*)::int as n from "${name}"`);
  const { rows } = await admin.query<{ name: string; n: number }>(counts.join(' union all '));
  return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
}

/** The same without the fan-outs of refusals and their starts: each refused caller has one at most at a time. */
export async function countRowsBesideRefusals(admin: Client): Promise<Record<string, number>> {
  const counts = await countRows(admin);
  const { rows } = await admin.query<{ n: number }>(
    `select count(*)::int as n from fan_outs where event_type = 'security.permission_denied'`,
  );
  const refusals = rows[0]?.n ?? 0;
  return { ...counts, fan_outs: counts['fan_outs']! - refusals, outbox: counts['outbox']! - refusals };
}

export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

/**
 * Waits until a session is blocked by the open transaction of `holder`, or `waiters` sessions, one after the
 * other.
 */
export async function untilBlocked(holder: Client, waiters = 1): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    const { rows } = await holder.query<{ n: number }>(
      `with recursive waiting (pid) as (
         select pg_backend_pid()
         union select l.pid from pg_locks l, waiting w where not l.granted and w.pid = any (pg_blocking_pids(l.pid)))
       select count(*)::int - 1 as n from waiting`,
    );
    if (rows[0]!.n >= waiters) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('Nobody waits for this transaction.');
}
