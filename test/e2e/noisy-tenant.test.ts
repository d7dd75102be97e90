import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { percentile } from '../../bench/support/stats.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { processorTime, sharesSince } from '../support/processor-time.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { createWorld, type World } from '../support/world.ts';

/** The rate limit of a tenant here, and the multiple that the noisy tenant sends. */
const limit = 10;
const burst = 60;
const excess = 20;
const perWindow = 40;
/**
 * Pairs of windows for the verdict, and the maximum of attempts for them; fewer where none of the first is
 * calm.
 */
const wanted = 3;
const tried = 6;
const triedInVain = 2;

let database: TestDatabase;
let stack: Stack;
let quiet: World;
let noisy: World;

beforeAll(async () => {
  database = await createTestDatabase();
  quiet = await createWorld(database.unitOfWork);
  noisy = await createWorld(database.unitOfWork);
  const env = {
    REQUESTS_PER_SECOND_PER_PRINCIPAL: String(limit),
    REQUEST_BURST_PER_PRINCIPAL: String(burst),
    REQUESTS_PER_SECOND_PER_TENANT: String(limit),
    REQUEST_BURST_PER_TENANT: String(burst),
  };
  stack = await startStack({ database, workers: 0, env });
});
afterAll(async () => {
  await stack?.stop();
  await database?.drop();
});

const addressOf = (world: World) => `${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/collections`;

interface Window {
  /** Durations of the quiet tenant's requests in milliseconds; it stays below its limit. */
  times: number[];
  shares: ReturnType<typeof sharesSince>;
}

async function measure(): Promise<Window> {
  const before = processorTime();
  const times: number[] = [];
  for (let i = 0; i < perWindow; i += 1) {
    const startedAt = performance.now();
    await askUntilAnswered();
    times.push(performance.now() - startedAt);
    await sleep(1_000 / limit);
  }
  return { times, shares: sharesSince(before) };
}

/** A machine whose host gives its processors to others gives no verdict. */
const isOurs = ({ shares }: Window) => shares.stolen < 0.025;
/**
 * Nor does a machine with other load; only a window without the noise can show that, because its work is
 * ours.
 */
const isCalm = (window: Window) => isOurs(window) && window.shares.idle > 0.6;

/** A busy process refuses, and the request is retried: it counts with its whole time. */
async function askUntilAnswered(): Promise<void> {
  for (let status = 503; status === 503;) {
    const answer = await fetch(addressOf(quiet), { headers: { 'X-API-Key': quiet.apiKey } });
    await answer.text();
    ({ status } = answer);
    expect([200, 503]).toContain(status);
  }
}

async function measureBesideNoise(): Promise<Window & { answers: Record<string, number> }> {
  const flood = spawn(
    process.execPath,
    [
      fileURLToPath(new URL('../support/flood.ts', import.meta.url)),
      addressOf(noisy),
      noisy.apiKey,
      String(limit * excess),
    ],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const said = text(flood.stdout);
  // Until the noisy tenant's burst is used up.
  await sleep(1_000);
  const window = await measure();
  flood.stdin.end();
  return { ...window, answers: JSON.parse(await said) as Record<string, number> };
}

it('a tenant at twenty times its limit leaves another tenant’s p95 within one and a half times its value alone', async (context) => {
  await measure();
  const alone: number[] = [];
  const crowded: number[] = [];
  let calm = 0;
  let before = await measure();
  for (let pair = 0; calm < wanted && pair < (calm > 0 ? tried : triedInVain); pair += 1) {
    const noise = await measureBesideNoise();
    const after = await measure();
    const { 200: passed = 0, 429: refused = 0, 503: _tooBusy, ...others } = noise.answers;
    expect(others).toEqual({});
    if (isCalm(before) && isOurs(noise) && isCalm(after)) {
      // The noisy tenant really exceeds its limit, and is really held to it.
      expect(refused / passed).toBeGreaterThan(3);
      calm += 1;
      // The two quiet windows alternate, so that a drift of the machine favours neither side.
      alone.push(...(pair % 2 === 0 ? before : after).times);
      crowded.push(...noise.times);
    }
    before = after;
  }
  const judgedBy = `${calm} of ${wanted} pairs of windows were calm`;
  context.skip(calm < wanted && process.env['MUST_JUDGE'] === undefined, judgedBy);
  expect(calm, judgedBy).toBe(wanted);
  const [p95Alone, p95] = [percentile(alone, 0.95), percentile(crowded, 0.95)];
  const ratio = p95 / p95Alone;
  console.log(
    `p95 alone ${p95Alone.toFixed(1)} ms, beside the noise ${p95.toFixed(1)} ms: ${ratio.toFixed(2)}`,
  );
  expect(ratio).toBeLessThanOrEqual(1.5);
}, 240_000);
