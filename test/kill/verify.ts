import { recordSegment } from '../support/sse-recorder.ts';
import { checkStream } from '../support/stream-checker.ts';
import type { Json } from '../support/stream-events.ts';
import type { Deployment } from './deployment.ts';
import { compareWithScript, withoutFileIds } from './expectation.ts';
import type { Fleet } from './fleet.ts';
import type { LiveResponse } from './live-response.ts';

/** One attempt at a turn, as the ledger has it. */
export interface Attempt {
  responseId: string;
  iteration: number;
  continuation: string;
  outcome: string;
  startedAt: number;
}

export interface Verdict {
  /** One line per lost response with its id and the fault. */
  lost: string[];
  /** Ids without a terminal state. */
  stuck: string[];
  attempts: Attempt[];
  eventsChecked: number;
}

/** Judges every response of the run by its client's bytes, its final read, two replays and the ledger. */
export async function verify(
  deployment: Deployment,
  fleet: Fleet,
  lives: readonly LiveResponse[],
): Promise<Verdict> {
  const attempts = await readAttempts(deployment);
  const byResponse = Map.groupBy(attempts, (attempt) => attempt.responseId);
  const verdict: Verdict = { lost: [], stuck: await findStuck(deployment), attempts, eventsChecked: 0 };
  const waiting = [...lives];
  const verifyNext = async (): Promise<void> => {
    for (let live = waiting.shift(); live !== undefined; live = waiting.shift()) {
      const losses = await judge(deployment, fleet, live, byResponse.get(live.id ?? '') ?? []);
      verdict.eventsChecked += live.received.length;
      if (losses.length > 0)
        verdict.lost.push(`#${live.index} ${live.part.script.name} ${live.id}: ${losses.join('; ')}`);
    }
  };
  await Promise.all([verifyNext(), verifyNext(), verifyNext()]);
  verdict.lost.push(...(await findLeftovers(deployment)));
  return verdict;
}

async function judge(
  { world }: Deployment,
  fleet: Fleet,
  live: LiveResponse,
  attempts: Attempt[],
): Promise<string[]> {
  const { recording, id } = live;
  if (live.error !== null) return [`its client failed: ${live.error.message}`];
  if (recording === null || id === null || !recording.done) return ['its client has no end'];
  const headers = { 'X-API-Key': world.apiKey };
  const urls = fleet
    .ready('gateway')
    .map((gateway) => `${gateway.url}/api/v1/spaces/${world.spaceId}/responses/${id}`);
  const answer = await fetch(urls[0]!, { headers });
  if (!answer.ok) return [`its final read answered ${answer.status}`];
  const { data: final } = (await answer.json()) as { data: Json };
  const replays: Uint8Array[] = [];
  for (const url of [urls[0]!, urls.at(-1)!]) replays.push((await recordSegment({ url, headers })).bytes);
  const { segments } = recording;
  const violations = checkStream({ responseId: id, segments, final, replays, snapshots: live.snapshots });
  const last = Math.max(...attempts.map((attempt) => attempt.iteration));
  const continued = attempts.some(
    ({ iteration, continuation }) => iteration === last && continuation !== 'fresh',
  );
  return [
    ...compareWithScript(live.part, withoutFileIds(final), continued),
    ...violations.map(({ invariant, message, at }) => `${invariant} at ${at}: ${message}`),
  ];
}

async function readAttempts({ query }: Deployment): Promise<Attempt[]> {
  const rows = await query<{
    response_id: string;
    iteration: number;
    continuation: string;
    outcome: string;
    started_at: Date;
  }>(
    'select response_id, iteration, continuation, outcome, started_at from turn_attempts order by started_at',
  );
  return rows.map((row) => ({
    responseId: row.response_id,
    iteration: row.iteration,
    continuation: row.continuation,
    outcome: row.outcome,
    startedAt: row.started_at.getTime(),
  }));
}

async function findStuck({ query }: Deployment): Promise<string[]> {
  const rows = await query<{ id: string }>('select id from responses where finished_at is null');
  return rows.map((row) => row.id);
}

/** Rows that a crash must not leave behind once everything has ended. */
async function findLeftovers({ query }: Deployment): Promise<string[]> {
  const [row] = await query<{ usage: number; calls: number; starts: number; attempts: number }>(
    `select (select count(*) from usage_ledger where not settled)::int as usage,
            (select count(*) from tool_calls where status <> 'done')::int as calls,
            (select count(*) from outbox where kind = 'start')::int as starts,
            (select count(*) from turn_attempts where outcome = 'running')::int as attempts`,
  );
  return Object.entries(row ?? {})
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${what} rows were left unsettled`);
}
