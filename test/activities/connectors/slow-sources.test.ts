import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { SourceFailure, type SourcePage } from '#domain/knowledge/connectors/source.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { openMemorySteps } from '#test/support/sources/run-steps.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

/** What a step takes by a clock that requests move. */
async function clocked<T>(work: (move: (ms: number) => void) => Promise<T>) {
  const began = Date.now();
  let now = began;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now);
  try {
    const result = await work((ms) => {
      now += ms;
    });
    return { result, minutes: (now - began) / 60_000 };
  } finally {
    clock.mockRestore();
  }
}

describe('a step that fetches documents of a slow source', () => {
  it('ends within its page, and the next one goes on there', async () => {
    const { source, space, begin, fetch } = await openMemorySteps(world);
    for (let n = 0; n < 100; n += 1) source.put(`d${n}`, `Document ${n}.`);
    await begin();
    const { result, minutes } = await clocked((move) => {
      // Each document takes 48 seconds, four at a time.
      source.before = (kind) => {
        if (kind === 'fetch') move(12_000);
      };
      return fetch();
    });
    expect(minutes).toBeLessThan(3);
    expect(result.state).toBe('more');
    const [run] = await space.runs();
    expect(run!.added).toBe(result.recordsFetched);
    expect(run!.added).toBeGreaterThanOrEqual(5);
    source.before = () => {};
    source.take('fetch');
    expect(await fetch()).toEqual({ state: 'listed', recordsFetched: 100 });
    expect(source.take('fetch')).toHaveLength(100 - run!.added);
    expect(Object.keys(await space.contents())).toHaveLength(100);
  });

  it('has got on also when no document was answered in time', async () => {
    const { source, space, begin, fetch } = await openMemorySteps(world);
    for (let n = 0; n < 8; n += 1) source.put(`d${n}`, `Document ${n}.`);
    await begin();
    const steps: unknown[] = [];
    await clocked(async (move) => {
      source.before = (kind) => {
        if (kind !== 'fetch') return;
        move(30_000);
        throw new SourceFailure('source_unreachable', 'The source does not answer.');
      };
      for (let step = 0; step < 8 && steps.at(-1) !== 'listed'; step += 1) steps.push((await fetch()).state);
    });
    expect(steps.length).toBeGreaterThan(1);
    expect(steps.at(-1)).toBe('listed');
    expect(await space.runs()).toMatchObject([{ failed: 8, recordsFetched: 8, attempts: 0 }]);
  });
});

describe('steps that fetch a page of a source that brings other documents each time', () => {
  it('end, and nothing counts as deleted', async () => {
    const { source, space, begin, fetch } = await openMemorySteps(world);
    let listed = 0;
    source.page = () => {
      const refs = Array.from({ length: 50 }, () => `d${(listed += 1)}`);
      for (const ref of refs) source.put(ref, `Document ${ref}.`);
      return {
        documents: refs.map((ref) => source.listed(ref)),
        gone: [],
        next: 'next',
        checkpoint: null,
        total: null,
        scope: 'everything',
      };
    };
    await begin();
    const steps: unknown[] = [];
    await clocked(async (move) => {
      source.before = (kind) => {
        if (kind === 'fetch') move(2_000);
      };
      const step = () =>
        fetch().then(
          ({ state }) => state,
          ({ type }: { type: string }) => type,
        );
      for (let taken = 0; taken < 40 && (taken === 0 || steps.at(-1) === 'more'); taken += 1) {
        steps.push(await step());
      }
    });
    expect(steps.at(-1)).toBe('listed');
    // A page may change while it is read.
    expect(steps.length).toBeGreaterThan(5);
    const [run] = await space.runs();
    expect(run).toMatchObject({ isListed: true, isTruncated: true, cursorTo: null });
    expect(run!.recordsFetched).toBeLessThan(1_200);
  });

  it('bring a page to its end that was long before, as one of an earlier version of the worker', async () => {
    const { source, space, begin, fetch } = await openMemorySteps(world);
    for (let n = 0; n < 5; n += 1) source.put(`d${n}`, `Document ${n}.`);
    await begin();
    await world.admin.query('update sync_runs set page_records = 100000 where id = $1', [
      (await space.runs())[0]!.id,
    ]);
    expect(await fetch()).toEqual({ state: 'listed', recordsFetched: 5 });
    expect(await space.runs()).toMatchObject([{ isTruncated: false }]);
  });
});

describe('a step that fetches changes of a slow source', () => {
  it('comes to the end of its page, also where each of its documents may have changed once more', async () => {
    const { source, space, begin, fetch } = await openMemorySteps(world);
    for (let n = 10; n < 40; n += 1) source.put(`d${n}`, `Document ${n}.`);
    source.page = () => ({
      documents: [...source.documents.keys()].map((ref) => source.listed(ref)),
      gone: [],
      next: null,
      checkpoint: 'later',
      total: null,
      scope: 'changes',
    });
    await begin();
    const states: string[] = [];
    await clocked(async (move) => {
      source.fetch = () => {
        move(12_000);
        // Without a version, as what is forbidden has none.
        return Promise.resolve({ kind: 'skipped', code: 'forbidden_by_source' });
      };
      for (let step = 0; step < 12 && states.at(-1) !== 'listed'; step += 1) {
        states.push((await fetch()).state);
      }
    });
    expect(states.length).toBeGreaterThan(2);
    expect(states.at(-1)).toBe('listed');
    expect(await space.documents()).toHaveLength(30);
  });
});

describe('steps that fetch changes of a source that answers a few requests before each pause', () => {
  /** Thirty changed documents without versions, and what the steps of a run say when so many are answered in each. */
  async function limited(
    limits: readonly number[],
    { grows = false, at }: { grows?: boolean; at?: string } = {},
  ) {
    const opened = await openMemorySteps(world);
    const { source, fetch } = opened;
    const refs = Array.from({ length: 30 }, (_, n) => `d${n + 10}`);
    const page = (documents: SourcePage['documents']): SourcePage => {
      return {
        documents,
        gone: [],
        next: null,
        checkpoint: 'later',
        total: null,
        scope: 'changes',
        ...(at !== undefined && { at }),
      };
    };
    for (const ref of refs) source.put(ref, `${ref} one.`);
    source.page = () => page(refs.map((ref) => ({ ...source.listed(ref), version: null })));
    await opened.begin();
    const states: string[] = [];
    for (let step = 0; step < 12 && states.at(-1) !== 'listed'; step += 1) {
      let answers = limits[Math.min(step, limits.length - 1)]!;
      source.before = (kind) => {
        if (kind === 'fetch' && (answers -= 1) < 0) {
          throw new SourceFailure('rate_limited', 'The source asks for a pause.', { retryAfterMs: 1 });
        }
      };
      if (grows) refs.push(`e${step}`);
      // A change that the page, listed once more, may be the last one to show.
      for (const ref of refs) source.put(ref, `${ref} of step ${step}.`);
      states.push(
        await fetch().then(
          ({ state }) => state,
          ({ type }: { type: string }) => type,
        ),
      );
    }
    source.before = () => {};
    return { ...opened, page, states };
  }

  it('come to the end of a page that needs more requests, and the next run reads what they left', async () => {
    const { source, space, page, states, detect, finish, whole } = await limited([10]);
    expect(states).toEqual(['more', 'more', 'more', 'more', 'listed']);
    await detect();
    expect(await finish('done')).toMatchObject({ status: 'completed_with_errors' });
    expect(await space.runs()).toMatchObject([{ failed: 20, cursorTo: 'later' }]);
    expect(await space.documents()).toHaveLength(30);
    source.page = () => page([]);
    source.take('fetch');
    expect(await whole()).toMatchObject({ status: 'completed' });
    expect(source.take('fetch')).toHaveLength(20);
    const texts = Object.values(await space.contents());
    expect(texts).toHaveLength(30);
    // The page was listed for the last time in step 3.
    expect(texts.filter((text) => !/of step [34]\.$/.test(text))).toEqual([]);
  });

  it('come to the end of a page that needs more requests, and is longer each time', async () => {
    const { space, states } = await limited([10], { grows: true });
    expect(states.at(-1)).toBe('listed');
    expect(await space.documents()).toHaveLength(29 + states.length);
  });

  it('fetch each document of a listing of one moment once', async () => {
    const { source, space, states, detect, finish } = await limited([10], { at: 'a moment' });
    expect(states).toEqual(['more', 'more', 'listed']);
    await detect();
    expect(await finish('done')).toMatchObject({ status: 'completed' });
    expect(await space.runs()).toMatchObject([{ failed: 0, added: 30, recordsFetched: 30 }]);
    expect(await space.documents()).toHaveLength(30);
    expect(source.take('list')).toHaveLength(3);
  });

  it('read all of a page for which the limit is enough after a pause', async () => {
    const { space, states, detect, finish } = await limited([20, 20, 40]);
    expect(states).toEqual(['more', 'more', 'listed']);
    await detect();
    expect(await finish('done')).toMatchObject({ status: 'completed' });
    expect(await space.runs()).toMatchObject([{ failed: 0 }]);
    const texts = Object.values(await space.contents());
    expect(texts).toHaveLength(30);
    expect(texts.filter((text) => !text.endsWith('of step 2.'))).toEqual([]);
  });
});

describe('a step that reads the groups of a slow source', () => {
  const grouped = async () => {
    const opened = await openMemorySteps(world);
    opened.source.pageSize = 1;
    for (let n = 1; n <= 9; n += 1) opened.source.members.set(`g${n}`, [`m${n}@example.org`]);
    const members = async () => {
      const { rows } = await world.admin.query<{ name: string }>(
        'select group_id as name from source_group_members where connector_id = $1 order by 1',
        [opened.space.ids.connectorId],
      );
      return rows.map(({ name }) => name);
    };
    const checkAll = async () => {
      const steps = [];
      while (steps.length < 20 && (steps.length === 0 || steps.at(-1)?.state === 'more')) {
        steps.push(await opened.check());
      }
      return steps;
    };
    return { ...opened, members, checkAll };
  };

  it('ends between two pages, and the next one goes on there', async () => {
    const { source, begin, fetch, detect, finish, members, checkAll } = await grouped();
    source.put('a', 'Alpha.');
    await begin();
    expect((await checkAll()).map(({ state }) => state)).toEqual(['done']);
    await fetch();
    await detect();
    await finish('done');
    source.members.delete('g9');
    source.requests.length = 0;
    await begin();
    await clocked(async (move) => {
      source.before = (kind) => {
        if (kind === 'groups') move(25_000);
      };
      expect((await checkAll()).map(({ state }) => state)).toEqual(['more', 'more', 'done']);
    });
    const places = Array.from({ length: 7 }, (_, n) => `groups ${n + 1}`);
    expect(source.requests).toEqual(['check', 'groups', ...places]);
    expect(await members()).toEqual(['g1', 'g2', 'g3', 'g4', 'g5', 'g6', 'g7', 'g8']);
  });

  it('reads them all for a workflow of the version before, which goes on after one step', async () => {
    const { source, begin, members, check } = await grouped();
    await begin();
    let failure: SourceFailure | null = null;
    await clocked(async (move) => {
      source.before = (kind, place) => {
        if (kind === 'groups') move(25_000);
        if (place === '5' && failure === null) {
          throw (failure = new SourceFailure('rate_limited', 'Later.', { retryAfterMs: 100 }));
        }
      };
      await expect(check({})).rejects.toMatchObject({ type: 'rate_limited' });
      expect(await check({})).toEqual({ state: 'done' });
    });
    expect(await members()).toHaveLength(9);
    expect(source.take('groups')).toHaveLength(10);
  });

  it('goes on after a pause that the source asks for, and begins again where it has forgotten the place', async () => {
    const { source, begin, members, checkAll } = await grouped();
    await begin();
    const failures = [
      new SourceFailure('rate_limited', 'Later.', { retryAfterMs: 100 }),
      new SourceFailure('cursor_expired', 'It is forgotten.'),
    ];
    source.before = (kind, place) => {
      const failure = kind === 'groups' && place === '5' ? failures.shift() : undefined;
      if (failure !== undefined) throw failure;
    };
    expect(await checkAll()).toEqual([{ state: 'more', pauseMs: 100 }, { state: 'done' }]);
    expect(await members()).toHaveLength(9);
    expect(source.take('groups').filter((request) => request === 'groups')).toHaveLength(2);
  });

  it('ends the run where the pages have no end', async () => {
    const { source, begin, check } = await grouped();
    const runId = await begin();
    let pages = 0;
    source.groups = () => Promise.resolve({ groups: [], next: String((pages += 1)) });
    await world.admin.query('update sync_runs set group_pages = 990 where id = $1', [runId]);
    await expect(check()).rejects.toMatchObject({ type: 'source_invalid' });
    expect(pages).toBe(10);
  });
});

describe('a step that looks for deleted documents of a slow source', () => {
  /** A run that has listed 400 documents less these. */
  async function without(count: number) {
    const opened = await openMemorySteps(world);
    for (let n = 0; n < 400; n += 1) opened.source.put(`d${n}`, `Document ${n}.`);
    await opened.whole();
    for (let n = 0; n < count; n += 1) opened.source.documents.delete(`d${n}`);
    await opened.begin();
    await opened.fetch();
    return opened;
  }

  it('has deleted what it knows of when it ends with its signal', async () => {
    const { source, space, detect } = await without(90);
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const cut = new AbortController();
      let asked = 0;
      source.before = (kind) => {
        if (kind === 'exists' && (asked += 1) === 60) cut.abort(new Error('timed out'));
        cut.signal.throwIfAborted();
      };
      await detect(cut.signal).catch(() => {});
    }
    expect(await space.runs()).toMatchObject([{ deleted: 90 }, {}]);
  });

  it('ends between its questions, and says where the next one goes on', async () => {
    const { source, space, detect } = await without(90);
    const { result, minutes } = await clocked((move) => {
      source.before = (kind) => {
        if (kind === 'exists') move(10_000);
      };
      return detect();
    });
    expect(minutes).toBeLessThan(3);
    expect(result.state).toBe('more');
    const [run] = await space.runs();
    expect(run!.deleted).toBeGreaterThanOrEqual(6);
  });

  it('has deleted what it knows of when the source goes away', async () => {
    const { source, space, detect } = await without(90);
    let asked = 0;
    source.before = (kind) => {
      if (kind === 'check' || (kind === 'exists' && (asked += 1) > 20)) {
        throw new SourceFailure('source_unreachable', 'The source does not answer.');
      }
    };
    await expect(detect()).rejects.toMatchObject({ type: 'source_unreachable' });
    expect(await space.runs()).toMatchObject([{ deleted: 20, errors: [] }, {}]);
  });
});
