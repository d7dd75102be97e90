import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { openSession } from '#domain/identity/sign-in/open-session.ts';
import { percentile } from '../../bench/support/stats.ts';
import { realWeights } from '../support/builtin-weights.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sendOver, type Answer } from '../support/gateway.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { defaultLimits } from '../support/raised-limits.ts';
import { proportionalBytesWithChildren } from '../support/process-memory.ts';
import { registerProvider } from '../support/sign-in.ts';
import { startStack, type Stack, type StackProcess } from '../support/stack.ts';
import { createWorld, scriptedModel, secrets, type World } from '../support/world.ts';
import { AttackingProcess } from './attacking-process.ts';
import { manners } from './model-server.ts';
import { compare, stagesOf, type Moments, type Stage } from './stages.ts';

/**
 * One tenant attacks one gateway and one worker for `HOSTILE_SECONDS`; another tenant uses its model
 * normally.
 */
const seconds = Number(process.env['HOSTILE_SECONDS'] ?? 600);
const secondsAlone = Math.min(60, seconds);
const everyMs = 500;
/** Loops of each attack at once. */
const width = 4;
const allowed = { slowdown: 3, memoryMiB: 300 };
let database: TestDatabase;
let attacker: AttackingProcess;
let models: ModelServer;
let stack: Stack;
let victim: World;
let hostile: World;

beforeAll(async () => {
  models = await startModelServer([{ name: 'calm', text: 'The Moon pulls at the water of the Earth.' }]);
  attacker = await AttackingProcess.start();
  database = await createTestDatabase();
  victim = await createWorld(database.unitOfWork, [scriptedModel(models, 'calm')]);
  hostile = await createWorld(
    database.unitOfWork,
    manners.map((manner) => scriptedModel(attacker, manner)),
  );
  // The documents of the hostile tenant are embedded.
  const weights = await realWeights();
  if (weights === null) throw new Error('The weights of the builtin model cannot be had.');
  stack = await startStack({
    database,
    env: {
      ...defaultLimits,
      EMBEDDING_MODEL_PATH: dirname(weights.weights),
      EGRESS_ALLOW: `${new URL(models.url).origin},${attacker.origin}`,
    },
  });
});
afterAll(async () => {
  await stack?.stop();
  await Promise.all([models?.stop(), attacker?.stop()]);
  await database?.drop();
});

const gateway = () => stack.gateways[0]!;
const epochMs = () => performance.timeOrigin + performance.now();
const p95 = (samples: readonly Moments[]) =>
  percentile(
    samples.map(({ sentAt, firstTextAt }) => firstTextAt - sentAt),
    0.95,
  );

function send(method: string, path: string, body: object): Promise<Answer> {
  return sendOver(gateway).send({
    method,
    path: `/v1/spaces/${hostile.spaceId}${path}`,
    apiKey: hostile.apiKey,
    body,
  });
}

/** The refresh token of a session of the world's owner. */
async function signedIn({ tenantId, owner }: World): Promise<string> {
  const provider = await registerProvider(database, hostile, {
    issuer: 'https://id.example.com',
    alg: 'ES256',
  });
  const { principalId } = owner;
  const { tokens } = await database.unitOfWork.inTenant(tenantId, (em) =>
    openSession({ em, secrets }, { tenantId, principalId, provider, maxLifetime: null, requestId: newId() }),
  );
  return tokens.refreshToken;
}

/** One response of the victim, read to its end. @throws when the answer is no stream with text */
async function answered(): Promise<Moments> {
  const question = `Why are there tides? ${randomUUID()}`;
  const sentAt = epochMs();
  const answer = await fetch(`${gateway().url}/api/v1/spaces/${victim.spaceId}/responses`, {
    method: 'POST',
    headers: { 'X-API-Key': victim.apiKey, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      input: { text: question },
      stream: true,
      tools: [],
    }),
    signal: AbortSignal.timeout(60_000),
  });
  let first: number | null = null;
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of answer.body!) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (first === null && text.includes('response.output_text.delta')) first = epochMs();
  }
  expect(text, `status ${answer.status}`).toContain('event: response.completed');
  const [responseId = ''] = /resp_\w+/.exec(text) ?? [];
  return {
    workflowId: workflowIdOf('generateResponse', { tenantId: victim.tenantId, responseId }),
    sentAt,
    modelAt: models.requests.find(({ body }) => JSON.stringify(body).includes(question))!.at,
    firstTextAt: first!,
  };
}

async function sample(forSeconds: number): Promise<Moments[]> {
  const samples: Moments[] = [];
  for (const deadline = performance.now() + forSeconds * 1_000; performance.now() < deadline;) {
    const startedAt = performance.now();
    samples.push(await answered());
    models.reset();
    await sleep(Math.max(0, everyMs - (performance.now() - startedAt)));
  }
  return samples;
}

/** p95 of each minute, in milliseconds: an attack whose rows and passages add up becomes dearer. */
function p95OfMinutes(samples: readonly Moments[]): number[] {
  const minutes = Object.groupBy(samples, ({ sentAt }) => Math.floor((sentAt - samples[0]!.sentAt) / 60_000));
  return Object.values(minutes).map((minute) => Math.round(p95(minute!)));
}

/** One after another: the histories are read when nothing is measured any more. */
async function readStages(samples: readonly Moments[]): Promise<Record<Stage, number>[]> {
  const read: Record<Stage, number>[] = [];
  for (const moments of samples) read.push(await stagesOf(stack.temporal, moments));
  return read;
}

/** Samples the memory of the processes, with those that they start, every half second, until stopped. */
function watchMemory(watched: readonly StackProcess[]): { stop(): number[] } {
  const highest = watched.map(() => 0);
  const look = () =>
    watched.forEach(({ child }, at) => {
      highest[at] = Math.max(highest[at]!, proportionalBytesWithChildren(child.pid!));
    });
  look();
  const timer = setInterval(look, 500);
  return {
    stop: () => {
      clearInterval(timer);
      look();
      return highest.map((bytes) => bytes / 2 ** 20);
    },
  };
}

it(
  `a tenant that does its worst for ${seconds} s leaves another one’s answers quick and the processes alive`,
  async () => {
    const put = await send('PUT', '/governance', { pii: { mode: 'redact' } });
    expect(put.status, put.text).toBe(200);
    const collection = await send('POST', '/collections', { name: 'Attack' });
    expect(collection.status, collection.text).toBe(201);
    const refreshToken = await signedIn(hostile);

    await sample(5);
    const processes = [...stack.gateways, ...stack.workers];
    const calm = watchMemory(processes);
    const alone = await sample(secondsAlone);
    const idle = calm.stop();

    const memory = watchMemory(processes);
    attacker.attack(
      {
        base: `${gateway().url}/api`,
        world: hostile,
        collectionId: collection.body.data.id as string,
        refreshToken,
        ...(process.env['HOSTILE_ONLY'] === undefined
          ? {}
          : { only: process.env['HOSTILE_ONLY'].split(',') }),
      },
      width,
    );
    const beside = await sample(seconds);
    const { answers, requests } = await attacker.end();
    const grown = memory.stop().map((highest, at) => highest - idle[at]!);

    const slowdown = p95(beside) / p95(alone);
    console.log(
      [
        `first token p95: alone ${p95(alone).toFixed(0)} ms (n = ${alone.length}), beside the attacks ${p95(beside).toFixed(0)} ms (n = ${beside.length}), ratio ${slowdown.toFixed(2)}`,
        `by minute: ${p95OfMinutes(beside).join(', ')} ms`,
        compare(await readStages(alone), await readStages(beside)),
        ...processes.map(
          ({ role }, at) =>
            `${role}: ${idle[at]!.toFixed(0)} MiB idle, ${grown[at]!.toFixed(0)} MiB more at most`,
        ),
        `answers to the attacks: ${JSON.stringify(answers)}`,
        `requests to the hostile models: ${JSON.stringify(requests)}`,
      ].join('\n'),
    );
    expect(processes.map(({ child }) => [child.exitCode, child.signalCode])).toEqual(
      processes.map(() => [null, null]),
    );
    // Each attack was really made, and each model of the server was called.
    for (const [name, counted] of Object.entries(answers)) {
      const accepted = (counted[200] ?? 0) + (counted[201] ?? 0) + (counted[202] ?? 0);
      expect(accepted, `${name}: ${JSON.stringify(counted)}`).toBeGreaterThan(5);
      expect(Object.keys(counted).filter((status) => Number(status) === 500)).toEqual([]);
    }
    for (const manner of manners) expect(requests[manner], manner).toBeGreaterThan(0);
    expect(slowdown).toBeLessThanOrEqual(allowed.slowdown);
    for (const [at, mebibytes] of grown.entries())
      expect(mebibytes, processes[at]!.role).toBeLessThanOrEqual(allowed.memoryMiB);
  },
  (seconds + secondsAlone + 180) * 1_000,
);
