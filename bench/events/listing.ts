import { Agent, request } from 'undici';
import type { Line } from '../support/report.ts';
import { percentile } from '../support/stats.ts';
import type { Log } from './log-lab.ts';
import type { EventScale } from './event-scale.ts';

/**
 * The queries sent to every log: each filter, alone and combined, and windows with partial ten minutes and
 * days.
 */
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

/** Milliseconds of one request. */
async function time(log: Log, agent: Agent, query: string): Promise<number> {
  const began = performance.now();
  const { statusCode, body } = await request(`${log.url}/api/v1/events?${query}`, {
    dispatcher: agent,
    headers: { 'x-api-key': log.world.apiKey },
  });
  const text = await body.text();
  const took = performance.now() - began;
  if (statusCode !== 200) throw new Error(`${query} answered ${statusCode}: ${text}`);
  return took;
}

const ms = (value: number): string => `${value.toFixed(2)} ms`;

/** Each log's times of one filter, by round. */
type Times = number[][];

/** p50 and p99 of a page with its totals, of the largest log beside the smallest. */
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
      const queries = asked.map((each) => each[name]!);
      await askInTurns(logs, agent, queries, scale.warmUp);
      const all = logs.map((): Times => []);
      for (let round = 0; round < scale.rounds; round += 1) {
        const times = await askInTurns(logs, agent, queries, scale.requests);
        for (const [i, each] of times.entries()) all[i]!.push(each);
      }
      const said = logs.map(({ events }, i) => {
        const times = all[i]!.flat();
        return `${events}: p50 ${ms(percentile(times, 0.5))}, p99 ${ms(percentile(times, 0.99))}`;
      });
      say(`${name}: ${said.join('; ')}`);
      for (const share of [0.99, 0.5])
        lines.push(compare(`list, ${name}, p${share * 100}`, share, { logs, all }));
    }
  } finally {
    await agent.close();
  }
  return lines;
}

/** One of each in turn, so that other load of the machine affects all of them. */
async function askInTurns(
  logs: readonly Log[],
  agent: Agent,
  queries: readonly string[],
  requests: number,
): Promise<number[][]> {
  const times = logs.map((): number[] => []);
  for (let turn = 0; turn < requests; turn += 1) {
    const order = logs.map((_, i) => i);
    if (turn % 2 === 1) order.reverse();
    for (const i of order) times[i]!.push(await time(logs[i]!, agent, queries[i]!));
  }
  return times;
}

/**
 * Judged by all requests of all rounds: the hundredth part of one round is a few requests, which measures
 * only the machine.
 */
function compare(
  name: string,
  share: number,
  { logs, all }: { logs: readonly Log[]; all: readonly Times[] },
): Line {
  const [largest, smallest] = [all.at(-1)!, all[0]!];
  const [ours, peer] = [percentile(largest.flat(), share), percentile(smallest.flat(), share)];
  return {
    name,
    ratios: largest.map((round, i) => percentile(round, share) / percentile(smallest[i]!, share)),
    whole: ours / peer,
    goal: 1.2,
    better: 'lower',
    ours: `${ms(ours)} of ${logs.at(-1)!.events}`,
    peer: `${ms(peer)} of ${logs[0]!.events}`,
  };
}
