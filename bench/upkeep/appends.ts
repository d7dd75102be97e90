import type { Client } from 'pg';
import { maintainPartitions } from '#domain/operations/maintenance/maintain-partitions.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { sweepOnce } from '#test/support/sweeps.ts';
import { connect } from '#test/support/tables.ts';
import type { World } from '#test/support/world.ts';
import type { Line } from '../support/report.ts';
import { median, percentile } from '../support/stats.ts';
import type { UpkeepScale } from './upkeep-scale.ts';

export interface AppendsLab {
  admin: Client;
  adminUrl: string;
  database: Database;
  purge: UnitOfWork;
  world: World;
}

/**
 * Appends to streams while a reader of all streams stays open, and upkeep tries to create a daily partition
 * and to drop one, beside appends without either. The p99 of both, in turns.
 */
export async function measureAppends(lab: AppendsLab, scale: UpkeepScale): Promise<Line> {
  const next = Array.from({ length: scale.writers }, () => 0);
  const [alone, beside]: [number[], number[]] = [[], []];
  await window(lab, scale, next);
  for (let n = 0; n < scale.windows; n += 1) {
    alone.push(percentile(await window(lab, scale, next), 0.99));
    beside.push(percentile(await besideReader(lab, () => window(lab, scale, next)), 0.99));
  }
  return {
    name: 'appends beside a reader and due partitions, p99',
    ratios: beside.map((p99, n) => p99 / alone[n]!),
    goal: 2,
    better: 'lower',
    ours: `${median(beside).toFixed(1)} ms`,
    peer: `${median(alone).toFixed(1)} ms without`,
  };
}

async function besideReader<T>(lab: AppendsLab, work: () => Promise<T>): Promise<T> {
  const { rows } = await lab.admin.query<{ last: string; old: string }>(
    `select 'stream_runs_' || to_char((select max(d) from app.stream_days() d), 'YYYYMMDD') as last,
       ((now() at time zone 'utc')::date - 3)::text as old`,
  );
  const { last, old } = rows[0]!;
  await lab.admin.query(`drop table ${last}`);
  await lab.admin.query('select app.add_stream_day($1)', [old]);
  await lab.admin.query(
    `insert into stream_runs (tenant_id, response_id, first_n, n, events, expires_at)
     values ($1, 'resp_old', 0, 1, '{}', $2::date::timestamp at time zone 'utc')`,
    [lab.world.tenantId, old],
  );
  const reader = await connect(lab.adminUrl);
  await reader.query('begin; select count(*) from stream_runs');
  const state = { over: false };
  const upkeep = (async () => {
    while (!state.over) await sweepOnce(maintainPartitions, { purge: lab.purge });
  })();
  try {
    return await work();
  } finally {
    state.over = true;
    await reader.end();
    await upkeep;
    await sweepOnce(maintainPartitions, { purge: lab.purge });
  }
}

/** Milliseconds of each append of one window. */
async function window(
  { database, world }: AppendsLab,
  { writers, windowMs }: UpkeepScale,
  next: number[],
): Promise<number[]> {
  const took: number[] = [];
  const endsAt = performance.now() + windowMs;
  const write = async (writer: number) => {
    while (performance.now() < endsAt) {
      const since = performance.now();
      const [row] = await database.call<{ answer: string[] }>(
        'append',
        'select app.append_stream($1, $2, $3, $4, $5, $6) as answer',
        [[world.tenantId], [`resp_${writer + 1}`], [0], [next[writer]], [1], ['{"type":"text"}']],
      );
      took.push(performance.now() - since);
      if (row?.answer[0] !== 'in') throw new Error(`An append was ${row?.answer[0]}.`);
      next[writer]! += 1;
    }
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  return took;
}
