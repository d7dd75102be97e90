import type { Line } from '../support/report.ts';
import { median } from '../support/stats.ts';
import { connect } from '#test/support/tables.ts';
import type { Log } from './log-lab.ts';
import type { EventScale } from './event-scale.ts';

/** Totals without a filter: ours beside a GROUP BY of the same log, and of the largest log beside the smallest. */
export async function measureCounting(logs: readonly Log[], scale: EventScale): Promise<Line[]> {
  const ours = logs.map((): number[] => []);
  const exact: number[] = [];
  const clients = await Promise.all(logs.map(({ database }) => connect(database.url)));
  try {
    for (const [i, { world }] of logs.entries()) {
      await clients[i]!.query(`select set_config('app.tenant_id', $1, false)`, [world.tenantId]);
    }
    const count = async (i: number): Promise<number[]> => {
      const { rows } = await clients[i]!.query<{ n: string[] }>({
        name: 'ours',
        text: 'select app.count_events($1, null, null, null, null) as n',
        values: [logs[i]!.world.tenantId],
      });
      return rows[0]!.n.map(Number);
    };
    const last = logs.length - 1;
    const group = () =>
      clients[last]!.query<{ category: string; n: string }>({
        name: 'exact',
        text: 'select category, count(*) as n from events where tenant_id = $1 group by 1',
        values: [logs[last]!.world.tenantId],
      });
    for (let round = 0; round < scale.rounds; round += 1) {
      for (const [i] of logs.entries()) {
        for (let k = 0; k < 20; k += 1) await count(i);
        const began = performance.now();
        for (let k = 0; k < scale.requests; k += 1) await count(i);
        ours[i]!.push((performance.now() - began) / scale.requests);
      }
      const began = performance.now();
      const { rows } = await group();
      exact.push(performance.now() - began);
      const sum = (await count(last)).reduce((total, n) => total + n, 0);
      if (sum !== rows.reduce((total, { n }) => total + Number(n), 0))
        throw new Error('The totals are not exact.');
    }
    const largest = logs[last]!.events;
    const shown = (values: readonly number[]) => `${median(values).toFixed(2)} ms`;
    return [
      {
        name: 'counts beside GROUP BY',
        ratios: exact.map((value, round) => value / ours[last]![round]!),
        goal: 500,
        better: 'higher',
        ours: `${shown(ours[last]!)} of ${largest}`,
        peer: shown(exact),
      },
      {
        name: 'counts, flat',
        ratios: ours[last]!.map((value, round) => value / ours[0]![round]!),
        goal: 1.2,
        better: 'lower',
        ours: `${shown(ours[last]!)} of ${largest}`,
        peer: `${shown(ours[0]!)} of ${logs[0]!.events}`,
      },
    ];
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}
