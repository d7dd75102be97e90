import { setTimeout as sleep } from 'node:timers/promises';
import type { Failpoint } from '#domain/foundation/kernel/failpoint.ts';
import type { StackProcess } from '../support/stack.ts';
import type { Deployment } from './deployment.ts';
import type { Fleet } from './fleet.ts';
import type { LiveResponse } from './live-response.ts';
import type { Strike } from './plan.ts';
import { silent } from './scripts.ts';
import { callsInTool, type HeldCall } from './tool-verdict.ts';
import type { Traffic } from './traffic.ts';

/**
 * A response whose work the killed process held, and the first event that this process cannot have written.
 */
export interface Held {
  live: LiveResponse;
  boundary: number;
}

export interface Struck {
  strike: Strike;
  pid: number;
  /** From the exit status; null where nothing is killed. */
  signal: string | null;
  /** By `performance.now()` and by the clock. */
  at: number;
  time: number;
  held: Held[];
  /** Calls that a tool had received and whose outcome the ledger did not have. */
  inTool?: HeldCall[];
}

export interface Field {
  deployment: Deployment;
  fleet: Fleet;
  traffic: Traffic;
  random: () => number;
}

/**
 * Carries out one kill of the plan.
 * @throws when no process holds work to interrupt, or a failpoint is never reached
 */
export function perform(field: Field, strike: Strike): Promise<Struck> {
  switch (strike.kind) {
    case 'worker':
      return killWorker(field, strike);
    case 'gateway':
      return killGateway(field, strike);
    case 'postgres':
    case 'temporal':
      return killServer(field, strike);
    case 'silence':
      return silence(field, strike);
    case 'failpoint':
      return killAtFailpoint(field, strike);
  }
}

const searchMs = 30_000;

async function killWorker(field: Field, strike: Strike & { kind: 'worker' }): Promise<Struck> {
  const { deployment, fleet, traffic, random } = field;
  await fleet.untilReady('worker', 2);
  for (let waitedMs = 0; waitedMs < searchMs; waitedMs += 40) {
    const running = traffic.running.filter((live) => live.id !== null);
    const now = performance.now();
    const inTool =
      strike.aim === 'tool' ? new Set((await callsInTool(deployment)).map((call) => call.responseId)) : null;
    const wanted = running.filter((live) =>
      strike.aim === 'writing' ? live.isWriting(now) : (inTool?.has(live.id ?? '') ?? true),
    );
    const target = pick(wanted, random);
    const holders = target === undefined ? new Map() : await holdersOf(deployment, running);
    const victim = fleet.ready('worker').find((worker) => worker.child.pid === holders.get(target));
    if (victim?.child.pid !== undefined) {
      const { pid } = victim.child;
      const held = running.filter((live) => holders.get(live) === pid);
      const moment = { at: performance.now(), time: Date.now() };
      const signal = await fleet.kill(victim);
      const cutOff = strike.aim === 'tool' ? { inTool: await callsInTool(deployment) } : {};
      return { strike, pid, signal, ...moment, held: await boundaries(deployment, held), ...cutOff };
    }
    await sleep(40);
  }
  throw new Error('No worker held work to be killed over.');
}

/**
 * The pid that runs each response's current step: Temporal records the identity of the worker that claimed
 * it.
 */
async function holdersOf(
  { stack, world }: Deployment,
  running: LiveResponse[],
): Promise<Map<LiveResponse | undefined, number>> {
  const holders = new Map<LiveResponse | undefined, number>();
  await Promise.all(
    running.map(async (live) => {
      const handle = stack.temporal.workflow.getHandle(`response/${world.tenantId}/${live.id}`);
      const description = await handle.describe().catch(() => null);
      const identity = description?.raw.pendingActivities?.[0]?.lastWorkerIdentity;
      if (identity) holders.set(live, Number.parseInt(identity, 10));
    }),
  );
  return holders;
}

/** The positions of the streams once the killed process can write no more. */
async function boundaries(deployment: Deployment, held: LiveResponse[]): Promise<Held[]> {
  const rows = await deployment.query<{ id: string; next_n: number }>(
    'select id, next_n from responses where id = any($1) and finished_at is null',
    [held.map((live) => live.id)],
  );
  return rows.flatMap(({ id, next_n: boundary }) => {
    const live = held.find((each) => each.id === id);
    return live === undefined ? [] : [{ live, boundary }];
  });
}

async function killGateway(field: Field, strike: Strike): Promise<Struck> {
  const { fleet, traffic } = field;
  await fleet.untilReady('gateway', 2);
  for (let waitedMs = 0; waitedMs < searchMs; waitedMs += 40) {
    const now = performance.now();
    const reading = traffic.running.filter((live) => live.isWriting(now));
    const victim = pick(
      reading.flatMap(({ gateway }) => fleet.ready('gateway').filter((each) => each === gateway)),
      field.random,
    );
    if (victim !== undefined) {
      const held = reading.filter((live) => live.gateway === victim);
      const moment = { at: performance.now(), time: Date.now() };
      const signal = await fleet.kill(victim);
      const places = held.map((live) => ({ live, boundary: (live.received.at(-1)?.n ?? -1) + 1 }));
      return { strike, pid: victim.child.pid ?? 0, signal, ...moment, held: places };
    }
    await sleep(40);
  }
  throw new Error('No gateway had a reader to be killed over.');
}

async function killServer(field: Field, strike: Strike & { kind: 'postgres' | 'temporal' }): Promise<Struck> {
  const moment = { at: performance.now(), time: Date.now() };
  const { pid, signal } = await field.deployment[strike.kind].killAndRestart();
  return { strike, pid, signal, ...moment, held: [] };
}

/** No process ends: data on the connections of one server is lost. */
async function silence(field: Field, strike: Strike & { kind: 'silence' }): Promise<Struck> {
  const { deployment, traffic } = field;
  const relay = deployment.relays[strike.target];
  if (relay === null) throw new Error(`Nothing uses a ${strike.target}.`);
  const writing = traffic.running.filter((live) => live.isWriting(performance.now()) || live.open === null);
  const held = writing
    .filter((live) => live.id !== null)
    .map((live) => ({ live, boundary: (live.received.at(-1)?.n ?? -1) + 1 }));
  const moment = { at: performance.now(), time: Date.now() };
  relay.silence(strike.silence);
  return { strike, pid: 0, signal: null, ...moment, held };
}

const failpointMs = 90_000;

/** Starts an armed process, sends the traffic that leads it to its failpoint, and waits for its end. */
async function killAtFailpoint(field: Field, strike: Strike & { kind: 'failpoint' }): Promise<Struck> {
  const { fleet } = field;
  const role = roleOf(strike.name);
  // Each end is a different response, so a skip would need that many on this one worker.
  const skip = strike.name.startsWith('finish.') ? 0 : strike.skip;
  let armed = await fleet.arm(role, `${strike.name}:${skip}`);
  await Promise.race([armed.ready.catch(() => undefined), armed.exited]);
  for (let waitedMs = 0; waitedMs < failpointMs; waitedMs += 500) {
    lead(field, strike.name, { armed, waitedMs });
    const signal = await Promise.race([armed.exited, sleep(500).then(() => undefined)]);
    if (signal === null) {
      // It could not start because a server was just restarting: start another, as a supervisor would.
      armed = await fleet.arm(role, `${strike.name}:${skip}`);
      await Promise.race([armed.ready.catch(() => undefined), armed.exited]);
    } else if (signal !== undefined) {
      const moment = { at: performance.now(), time: Date.now() };
      return { strike, pid: armed.child.pid ?? 0, signal, ...moment, held: [] };
    }
  }
  await armed.kill();
  throw new Error(`The failpoint ${strike.name} was never reached.`);
}

function roleOf(name: Failpoint): StackProcess['role'] {
  return name.startsWith('create.') || name.startsWith('dispatch.') ? 'gateway' : 'worker';
}

/**
 * Sends an armed process the traffic that leads it to its failpoint: requests, deadlines, or more turns and
 * calls.
 */
function lead(field: Field, name: Failpoint, at: { armed: StackProcess; waitedMs: number }): void {
  if (roleOf(name) === 'gateway') {
    field.traffic.launch(pickPart(field), at.armed);
  } else if (at.waitedMs % 2_000 !== 0) {
    return;
  } else if (name.startsWith('finish.')) {
    for (let i = 0; i < 5; i += 1) field.traffic.launch(silent);
  } else {
    field.traffic.launch(pickPart(field));
  }
}

function pickPart({ traffic, random }: Field) {
  const live = pick(
    traffic.all.filter((each) => each.part !== silent),
    random,
  );
  if (live === undefined) throw new Error('Nothing runs.');
  return live.part;
}

function pick<T>(list: readonly T[], random: () => number): T | undefined {
  return list[Math.floor(random() * list.length)];
}
