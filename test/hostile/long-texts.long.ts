import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { percentile } from '../../bench/support/stats.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sendOver, type Answer } from '../support/gateway.ts';
import { defaultLimits } from '../support/raised-limits.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { createWorld, type World } from '../support/world.ts';
import { AttackingProcess } from './attacking-process.ts';

/** One tenant sends fifty texts of a megabyte a second to be redacted; another tenant's reads are timed. */
const seconds = Number(process.env['HOSTILE_SECONDS'] ?? 60);
const everyMs = 25;
const allowedSlowdown = 2;

let database: TestDatabase;
let attacker: AttackingProcess;
let stack: Stack;
let victim: World;
let hostile: World;

beforeAll(async () => {
  attacker = await AttackingProcess.start();
  database = await createTestDatabase();
  victim = await createWorld(database.unitOfWork);
  hostile = await createWorld(database.unitOfWork);
  stack = await startStack({ database, workers: 0, env: defaultLimits });
});
afterAll(async () => {
  await stack?.stop();
  await attacker?.stop();
  await database?.drop();
});

const send = (world: World, method: string, path: string, body?: object): Promise<Answer> =>
  sendOver(() => stack.gateways[0]!).send({
    method,
    path: `/v1/spaces/${world.spaceId}${path}`,
    apiKey: world.apiKey,
    ...(body === undefined ? {} : { body }),
  });

async function sample(): Promise<number[]> {
  const times: number[] = [];
  for (const deadline = performance.now() + seconds * 1_000; performance.now() < deadline;) {
    const startedAt = performance.now();
    expect((await send(victim, 'GET', '/collections')).status).toBe(200);
    const took = performance.now() - startedAt;
    times.push(took);
    await sleep(Math.max(0, everyMs - took));
  }
  return times;
}

it(
  `another tenant’s reads stay quick while a tenant has texts of a megabyte redacted for ${seconds} s`,
  async () => {
    expect((await send(hostile, 'PUT', '/governance', { pii: { mode: 'redact' } })).status).toBe(200);
    await sample();
    const alone = await sample();
    const target = {
      base: `${stack.gateways[0]!.url}/api`,
      world: hostile,
      only: ['messages'],
      pauseMs: 1_000,
    };
    attacker.attack({ ...target, collectionId: '', refreshToken: '' }, 50);
    const beside = await sample();
    const { answers } = await attacker.end();
    const [before, after] = [percentile(alone, 0.99), percentile(beside, 0.99)];
    console.log(
      `GET p99: alone ${before.toFixed(1)} ms (n = ${alone.length}), beside ${after.toFixed(1)} ms (n = ${beside.length}), ` +
        `ratio ${(after / before).toFixed(2)}; p50 ${percentile(alone, 0.5).toFixed(1)} → ${percentile(beside, 0.5).toFixed(1)} ms; ` +
        `answers: ${JSON.stringify(answers)}`,
    );
    expect(answers['messages']![201]).toBeGreaterThan(seconds / 2);
    expect(after / before).toBeLessThanOrEqual(allowedSlowdown);
  },
  (3 * seconds + 60) * 1_000,
);
