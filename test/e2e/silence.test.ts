import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { holderOf } from '../support/holder.ts';
import { startModelServer, type ModelServer } from '../support/model-server.ts';
import { ResponsesClient, textOf } from '../support/responses-client.ts';
import { followResponse, type Recording } from '../support/sse-recorder.ts';
import { startSilentRelay, throughRelay, type SilentRelay } from '../support/silent-relay.ts';
import { slack } from '../support/slack.ts';
import { startStack, type Stack, type StackProcess } from '../support/stack.ts';
import { checkStream } from '../support/stream-checker.ts';
import type { Json } from '../support/stream-events.ts';
import { createWorld, scriptedModel, type World } from '../support/world.ts';

// A repeated sentence would be taken for a repeat by the model.
const text = Array.from({ length: 16 }, (_, i) => `Buoy ${i * 29 + 3} drifts where no radio answers.`).join(
  ' ',
);

describe('a server that falls silent', () => {
  const relays: SilentRelay[] = [];
  let postgres: SilentRelay;
  let temporal: SilentRelay;
  let database: TestDatabase;
  let models: ModelServer;
  let world: World;
  let stack: Stack;
  let client: ResponsesClient;

  const relayTo = async (port: number) => {
    const relay = await startSilentRelay({ port });
    relays.push(relay);
    return relay;
  };
  const databaseThrough = (relay: SilentRelay) => ({
    DATABASE_URL: throughRelay(database.url, relay),
    DATABASE_PURGE_URL: throughRelay(database.purgeUrl, relay),
  });

  beforeAll(async () => {
    models = await startModelServer([{ name: 'slow', text, tokenDelayMs: 30 }]);
    database = await createTestDatabase();
    world = await createWorld(database.unitOfWork, [scriptedModel(models, 'slow')]);
    postgres = await relayTo(Number(new URL(database.url).port));
    temporal = await relayTo(Number(inject('temporal').address.split(':')[1]));
    stack = await startStack({
      database,
      workers: 1,
      env: {
        ...databaseThrough(postgres),
        TEMPORAL_ADDRESS: temporal.address,
        EGRESS_ALLOW: new URL(models.url).origin,
      },
    });
    client = new ResponsesClient(world, () => stack.gateways[0]!);
  });

  afterAll(async () => {
    // A worker that lost a connection to Temporal waits for the tasks that ran over it.
    await Promise.all((stack?.workers ?? []).map((worker) => worker.kill()));
    await stack?.stop();
    await Promise.all(relays.map((relay) => relay.close()));
    await models?.stop();
    await database?.drop();
  });

  interface Followed {
    ended: Promise<Recording>;
    /** The arrival of each event, by `performance.now()`. */
    lastActivityAt: number[];
    id: () => string | undefined;
  }

  function follow(): Followed {
    const lastActivityAt: number[] = [];
    let id: string | undefined;
    const body = { input: { text: 'Where is the buoy?' }, model: 'slow', stream: true, tools: [] };
    const ended = followResponse({
      request: () => ({ url: client.url(), method: 'POST', headers: client.headers, body }),
      onFrame: (frame) => {
        id ??= frame.id?.split(':')[0];
        lastActivityAt.push(performance.now());
      },
      timeoutMs: 90_000,
    });
    return { ended, lastActivityAt, id: () => id };
  }

  const followMany = (count: number) => Array.from({ length: count }, follow);

  async function untilWriting(followed: readonly Followed[]): Promise<void> {
    while (followed.some(({ lastActivityAt }) => lastActivityAt.length < 12)) await sleep(20);
  }

  /** Nothing is lost, repeated or wrong. */
  async function expectWhole({ ended }: Followed): Promise<void> {
    const { responseId, segments } = await ended;
    const final = await client.read(responseId!);
    expect(final.status).toBe('completed');
    expect(textOf(final)).toBe(text);
    const stored = final as unknown as Json;
    expect(
      checkStream({ responseId: responseId!, segments, final: stored, replays: [], snapshots: [] }),
    ).toEqual([]);
  }

  const readiness = async ({ url }: StackProcess) => {
    const answer = await fetch(`${url}/readyz`);
    return `${answer.status} ${(await answer.text()).trim()}`;
  };

  const hungCalls = async ({ url }: StackProcess, target: string) => {
    const scraped = await (await fetch(`${url}/metrics`)).text();
    const line = new RegExp(`^hung_calls_total\\{target="${target}".*\\} (\\d+)`, 'm').exec(scraped);
    return Number(line?.[1] ?? 0);
  };

  it('a worker that reaches Temporal but not PostgreSQL releases its turns, reports it, and works again later', async () => {
    const own = await relayTo(Number(new URL(database.url).port));
    const cutOff = await stack.start('worker', databaseThrough(own));
    const followed = followMany(8);
    await untilWriting(followed);
    const holders = await Promise.all(
      followed.map(({ id }) => holderOf(stack, { tenantId: world.tenantId, responseId: id()! })),
    );
    expect(holders).toContain(cutOff);
    const silentAt = performance.now();
    own.silence({ awayMs: 60_000 });
    await expect.poll(() => readiness(cutOff), { timeout: 20_000, interval: 100 }).toBe('503 database');
    await Promise.all(followed.map(expectWhole));
    console.log(`one worker cut off: all whole ${Math.round(performance.now() - silentAt)} ms after the cut`);
    expect(await hungCalls(cutOff, 'postgresql')).toBeGreaterThan(0);
    expect(await readiness(stack.workers[0]!)).toBe('200 ok');
    own.silence({ awayMs: 0 });
    await expect.poll(() => readiness(cutOff), { timeout: 10_000 * slack(), interval: 100 }).toBe('200 ok');
    await cutOff.kill();
    stack.workers.splice(stack.workers.indexOf(cutOff), 1);
  });

  it('20 streams survive that every connection to PostgreSQL falls silent, and then to Temporal', async () => {
    const followed = followMany(20);
    await untilWriting(followed);
    const at = performance.now();
    postgres.silence();
    await sleep(1_000);
    temporal.silence();
    await Promise.all(followed.map(expectWhole));
    const pauses = followed
      .map(({ lastActivityAt }) =>
        maxGap(
          lastActivityAt.filter((each) => each > at),
          at,
        ),
      )
      .toSorted((a, b) => a - b);
    console.log(`both silent: longest pause of a stream p50 ${pauses[10]} ms, max ${pauses.at(-1)} ms`);
    expect(pauses.at(-1)).toBeLessThan(10_000 * slack());
    await expectWhole(follow());
    for (const target of ['postgresql', 'temporal']) {
      const hung = await Promise.all(
        [...stack.gateways, ...stack.workers].map((each) => hungCalls(each, target)),
      );
      expect(Math.max(...hung), target).toBeGreaterThan(0);
    }
  });
});

function maxGap(times: readonly number[], from: number): number {
  return Math.round(Math.max(...times.map((time, i) => time - (times[i - 1] ?? from))));
}
