import { Agent, request } from 'undici';
import type { Line } from '../support/report.ts';
import { median, percentile } from '../support/stats.ts';
import type { Log } from './log-lab.ts';
import type { EventScale } from './event-scale.ts';

/** What is asked of every log: each filter, alone and with others, and windows that cut hours and days. */
async function questions({ admin, world }: Log): Promise<Record<string, string>> {
  const { rows } = await admin.query<{ id: string; type: string }>(
    `select resource_id as id, resource_type as type from events where tenant_id = $1 and resource_type = 'document'
     or tenant_id = $1 and resource_type = 'model' order by resource_type desc, id desc limit 1`,
    [world.tenantId],
  );
  const resource = rows[0]!.id;
  const at = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000 - 1_234_567).toISOString();
  const window = `from_date=${at(200)}&to_date=${at(20)}`;
  return {
    'no filter': '',
    category: 'category=security',
    'resource type': 'resource_type=space',
    'category and type': 'category=security&resource_type=space',
    resource: `resource_id=${resource}`,
    'resource and category': `resource_id=${resource}&category=system`,
    window,
    'window and category': `${window}&category=security`,
    'window and type': `${window}&resource_type=space`,
    'window and resource': `${window}&resource_id=${resource}`,
  };
}

/** Milliseconds of each of `count` requests, one after the other. */
async function time(log: Log, agent: Agent, query: string, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i += 1) {
    const began = performance.now();
    const { statusCode, body } = await request(`${log.url}/api/v1/events?${query}`, {
      dispatcher: agent,
      headers: { 'x-api-key': log.world.apiKey },
    });
    const text = await body.text();
    times.push(performance.now() - began);
    if (statusCode !== 200) throw new Error(`${query} answered ${statusCode}: ${text}`);
  }
  return times;
}

/** Requests to one log before the next. */
const perTurn = 10;

const ms = (value: number): string => `${value.toFixed(2)} ms`;

/** The p99 of a page with its totals, of the largest log beside the smallest. */
export async function measureListing(
  logs: readonly Log[],
  scale: EventScale,
  say: (line: string) => void,
): Promise<Line[]> {
  const agent = new Agent({ connections: 1 });
  const lines: Line[] = [];
  try {
    const asked = await Promise.all(logs.map(questions));
    for (const name of Object.keys(asked[0]!)) {
      const p99s = logs.map((): number[] => []);
      const p50s = logs.map((): number[] => []);
      for (const [i, log] of logs.entries()) await time(log, agent, asked[i]![name]!, scale.warmUp);
      for (let round = 0; round < scale.rounds; round += 1) {
        const times = logs.map((): number[] => []);
        // A few of each in turn, so that what else the machine does falls on all of them.
        for (let turn = 0; times[0]!.length < scale.requests; turn += 1) {
          const order = logs.map((_, i) => i);
          if (turn % 2 === 1) order.reverse();
          for (const i of order) times[i]!.push(...(await time(logs[i]!, agent, asked[i]![name]!, perTurn)));
        }
        for (const [i, each] of times.entries()) {
          p99s[i]!.push(percentile(each, 0.99));
          p50s[i]!.push(percentile(each, 0.5));
        }
      }
      say(
        `${name}: ${logs.map(({ events }, i) => `${events}: p50 ${ms(median(p50s[i]!))}, p99 ${ms(median(p99s[i]!))}`).join('; ')}`,
      );
      const last = logs.length - 1;
      for (const [what, values] of [
        ['p99', p99s],
        ['p50', p50s],
      ] as const) {
        lines.push({
          name: `list, ${name}, ${what}`,
          ratios: values[last]!.map((value, round) => value / values[0]![round]!),
          goal: 1.2,
          better: 'lower',
          ours: `${ms(median(values[last]!))} of ${logs[last]!.events}`,
          peer: `${ms(median(values[0]!))} of ${logs[0]!.events}`,
        });
      }
    }
  } finally {
    await agent.close();
  }
  return lines;
}
