import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { WorkflowHandle } from '@temporalio/client';
import type { HeldWatch } from '#test/support/sources/memory-source.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { ConnectorActors } from '#test/support/sources/connector-actors.ts';

let actors: ConnectorActors;
const within = (runs: number) => ({ runs, withinMs: 60_000 });
const limits = { checkMs: 200, debounceMs: 50, pace: { change: within(20), gap: within(1) } };

beforeAll(async () => {
  actors = await ConnectorActors.open({ watch: limits });
});
afterAll(() => actors.stop());

const soon = { timeout: 30_000, interval: 50 };
const detailsOf = async (handle: WorkflowHandle) =>
  (await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata')).currentDetails;
const watched = 'Waits for a message: the connector is active. Its source is watched for changes.';

describe('the actor of a connector whose source reports changes', () => {
  const relays: NodeJS.Timeout[] = [];
  afterEach(() => {
    for (const relay of relays.splice(0)) clearInterval(relay);
  });

  /** An active connector without a schedule, whose messages to its actor are sent as by a relay. */
  async function connected() {
    const connector = await actors.connect({ a: 'Alpha.' }, { syncSchedule: null });
    const { space, source, handle } = connector;
    const send = async () => {
      const { rows } = await actors.world.admin.query<{ payload: { signal: string; args: unknown[] } }>(
        'delete from outbox where workflow_id = $1 returning payload',
        [handle.workflowId],
      );
      for (const { payload } of rows) await handle.signal(payload.signal, ...payload.args);
    };
    relays.push(setInterval(() => void send().catch(() => {}), 50));
    const held = async (other: HeldWatch | null = null) => {
      const find = () => [...source.watches].find((each) => each !== other);
      await expect.poll(() => find() !== undefined, soon).toBe(true);
      return find()!;
    };
    const details = () => detailsOf(handle);
    const isIdle = async () => (await space.runs()).every(({ completedAt }) => completedAt != null);
    /** Until the run after the beginning of the watch has ended. */
    const ready = async () => {
      await expect
        .poll(async () => (await space.runs()).map(({ trigger }) => trigger), soon)
        .toContain('webhook');
      await expect.poll(isIdle, soon).toBe(true);
      return held();
    };
    return { ...connector, held, details, isIdle, ready };
  }

  it('watches it beside its runs, with one subscription, and runs when a change is reported', async () => {
    const { source, space, ready, details, isIdle } = await connected();
    const { change, refs } = await ready();
    expect(refs).toEqual(['a']);
    await expect.poll(details, soon).toBe(watched);
    source.put('a', 'Alpha the second.');
    change();
    await expect.poll(() => space.find('second'), soon).toEqual(['Alpha the second.']);
    source.put('a', 'Alpha the third.');
    change();
    await expect.poll(() => space.find('third'), soon).toEqual(['Alpha the third.']);
    await expect.poll(isIdle, soon).toBe(true);
    await expect.poll(details, soon).toBe(watched);
    expect((await space.runs()).map(({ trigger }) => trigger)).toEqual([
      'webhook',
      'webhook',
      'webhook',
      'initial',
    ]);
    expect(source.requests.filter((request) => request === 'watch')).toHaveLength(1);
  });

  it('runs once more for a change that is reported during a run', async () => {
    const { source, space, ready, isIdle } = await connected();
    const { change } = await ready();
    source.put('a', 'Alpha the second.');
    let reported = false;
    source.before = (kind) => {
      if (kind !== 'exists' && kind !== 'fetch') return;
      if (reported) return;
      reported = true;
      // The listing of this run has passed.
      source.put('b', 'Beta.');
      change();
    };
    change();
    await expect.poll(() => space.find('beta'), soon).toEqual(['Beta.']);
    await expect.poll(isIdle, soon).toBe(true);
    expect(await space.runs()).toHaveLength(4);
  });

  it('ends the watch of a paused connector at once, and begins another one when it is resumed', async () => {
    const { source, space, ready, held, details } = await connected();
    const first = await ready();
    await space.update({ status: 'paused' });
    await expect.poll(() => source.watches.size, soon).toBe(0);
    await expect.poll(details, soon).toBe('Waits for a message: the connector is paused.');
    await space.update({ status: 'active' });
    await held(first);
    await space.delete();
    await expect.poll(() => source.watches.size, soon).toBe(0);
  });

  it('pauses after a failure without a failure of the connector, and tries at once after a change of it', async () => {
    const { source, space, ready, held, details } = await connected();
    const first = await ready();
    source.before = (kind) => {
      if (kind === 'watch') throw new SourceFailure('source_unreachable', 'It is away.');
    };
    first.end('closed');
    await expect.poll(details, soon).toMatch(/Its source is not watched: tried again in 1 minutes\.$/);
    expect(await space.read()).toMatchObject({ status: 'active', failedRuns: 0 });
    source.before = () => {};
    await space.update({ scopeConfig: { ...((await space.read()).scopeConfig as object), note: 'x' } });
    await held(first);
    await expect.poll(details, soon).toBe(watched);
  });

  it('is watched by another worker when its own one is shut down', async () => {
    const { source, space, ready, held } = await connected();
    const first = await ready();
    const [before] = actors.watchers;
    await actors.startWatches({ ...limits, pace: { ...limits.pace, gap: within(5) } });
    await before!.stop();
    const second = await held(first);
    source.put('a', 'Alpha elsewhere.');
    second.change();
    await expect.poll(() => space.find('elsewhere'), soon).toEqual(['Alpha elsewhere.']);
  });

  it('continues as a new run when its history is large, and watches its source again', async () => {
    const { handle, ready, held, details } = await connected();
    const first = await ready();
    await expect.poll(details, soon).toBe(watched);
    const { runId } = await handle.describe();
    // Of no run: the actor plans once more, and the events of its history are large.
    for (let n = 0; n < 50; n += 1) await handle.signal('cancelRun', 'x'.repeat(100_000));
    await expect.poll(async () => (await handle.describe()).runId, soon).not.toBe(runId);
    await held(first);
    await expect.poll(details, soon).toBe(watched);
  });
});

describe('the actor of a connector whose tenant has all watches that it may have', () => {
  let crowded: ConnectorActors;
  beforeAll(async () => {
    crowded = await ConnectorActors.open({ watch: { ...limits, perTenant: 0 } });
  });
  afterAll(() => crowded.stop());

  it('tries again after longer pauses', async () => {
    const { handle, space } = await crowded.connect({ a: 'Alpha.' }, { syncSchedule: null });
    await expect.poll(async () => (await space.read()).status, soon).toBe('active');
    const minutes = async () =>
      Number(/is not watched: tried again in (\d+) minutes/.exec((await detailsOf(handle)) ?? '')?.[1] ?? 0);
    let earlier = 0;
    for (const [from, to] of [
      [8, 10],
      [15, 20],
      [30, 40],
      [60, 80],
    ] as const) {
      await expect.poll(minutes, soon).toBeGreaterThan(earlier);
      earlier = await minutes();
      expect(earlier).toBeGreaterThanOrEqual(from);
      expect(earlier).toBeLessThanOrEqual(to);
      // Its pause ends, and there is no place yet.
      await handle.signal('configChanged');
    }
  });
});
