import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { detectDeletions } from '#activities/connectors/detect-deletions.ts';
import { fetchPages } from '#activities/connectors/fetch-pages.ts';
import { finishSync } from '#activities/connectors/finish-sync.ts';
import { AdaptiveRate } from '#domain/foundation/kernel/adaptive-rate.ts';
import { BulkTurns } from '#domain/foundation/kernel/bulk-turns.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { planRun } from '#domain/knowledge/connectors/plan-run.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { ConnectorSpace, testProviders } from '#test/support/sources/connector-space.ts';
import { MemorySource, memoryProvider } from '#test/support/sources/memory-source.ts';
import { noOtherWork } from '#test/support/no-other-work.ts';
import { extractor } from '#test/support/extractor.ts';

let shared: KnowledgeWorld;
beforeAll(async () => {
  shared = await openWorld();
});
afterAll(() => shared.stop());

/** A run that has begun over so many documents, all in one page. */
async function begun(
  documents: number,
  { world = shared, bulk = noOtherWork }: { world?: KnowledgeWorld; bulk?: BulkTurns } = {},
) {
  const source = new MemorySource();
  source.pageSize = documents;
  for (let n = 0; n < documents; n += 1) source.put(`d${n}`, `Document ${n} is about word${n}.`);
  const sources = testProviders([memoryProvider(new Map([['m', source]]))]);
  const space = await ConnectorSpace.create(world, sources, {
    providerSlug: 'memory',
    scopeConfig: { name: 'm' },
  });
  const { tenantId, connectorId } = space.ids;
  const begin = async () => {
    const { id } = await space.request();
    await world.unitOfWork.inTenant(tenantId, (em) => planRun(em, connectorId));
    return id;
  };
  let runId = await begin();
  const deps = { unitOfWork: world.unitOfWork, sources, extractor, bulk };
  return {
    source,
    space,
    attempt: (signal = AbortSignal.timeout(60_000)) =>
      fetchPages(deps, { tenantId, connectorId, runId }, signal),
    detect: () => detectDeletions(deps, { tenantId, connectorId, runId }, AbortSignal.timeout(60_000)),
    next: async () => {
      await finishSync(deps, { tenantId, connectorId, runId, end: 'done' });
      runId = await begin();
    },
  };
}

const all = (documents: number) =>
  Object.fromEntries(
    Array.from({ length: documents }, (_, n) => [`d${n}.md`, `Document ${n} is about word${n}.`]),
  );

it('stores a document once when an attempt that counts as lost goes on beside the next one', async () => {
  const { space, attempt } = await begun(250);
  await Promise.all([attempt(), attempt()]);
  expect(await space.contents()).toEqual(all(250));
  const { rows } = await shared.admin.query<{ n: number }>(
    'select count(*)::int as n from documents where tenant_id = $1 and collection_id = $2',
    [space.fixture.tenantId, space.collectionId],
  );
  expect(rows).toEqual([{ n: 250 }]);
  expect(await space.runs()).toMatchObject([{ added: 250, updated: 0, recordsFetched: 250, isListed: true }]);
});

it('has stored what it was storing when it ends with its signal, and the next attempt fetches the rest', async () => {
  const { source, space, attempt } = await begun(250);
  const cut = new AbortController();
  source.before = (request, ref) => {
    if (request === 'fetch' && ref === 'd90') cut.abort(new Error('cut'));
  };
  // In the order of the references.
  await expect(attempt(cut.signal)).rejects.toThrow('cut');
  const [run] = await space.runs();
  const added = run?.added ?? 0;
  // Two batches, and most of the third.
  expect(added).toBeGreaterThan(230);
  source.take('fetch');
  source.before = () => {};
  await attempt();
  expect(source.take('fetch').length).toBe(250 - added);
  expect(await space.contents()).toEqual(all(250));
});

it('has the workflow of the space embed what it has stored of a page, also when it ends with its signal', async () => {
  const { source, space, attempt, next } = await begun(250);
  const wakes = () =>
    shared.dispatches.filter(
      ({ workflowType, tenantId }) => workflowType === 'embedSpace' && tenantId === space.ids.tenantId,
    ).length;
  const cut = new AbortController();
  source.before = (request, ref) => {
    if (request === 'fetch' && ref === 'd90') cut.abort(new Error('cut'));
  };
  await expect(attempt(cut.signal)).rejects.toThrow('cut');
  expect(wakes()).toBeGreaterThan(0);
  source.before = () => {};
  await attempt();
  await next();
  const before = wakes();
  await attempt();
  expect(wakes()).toBe(before);
});

it('counts a document that has not changed once when two attempts mark it, and stores what is new of its listing', async () => {
  const { source, space, attempt, next } = await begun(600);
  await attempt();
  source.take('fetch');
  await next();
  const text = 'Document 7 is about word7.';
  source.put('d7', text, { name: 'renamed.md', version: source.documents.get('d7')!.version });
  await Promise.all([attempt(), attempt()]);
  expect(source.take('fetch')).toEqual([]);
  const [run] = await space.runs();
  expect(run).toMatchObject({ unchanged: 600, updated: 0, recordsFetched: 600, isListed: true });
  const { 'd7.md': _, ...others } = all(600);
  expect(await space.contents()).toEqual({ ...others, 'renamed.md': text });
  const { rows } = await shared.admin.query<{ listing: number; n: number }>(
    'select listing, count(*)::int as n from source_documents where tenant_id = $1 group by 1',
    [space.fixture.tenantId],
  );
  expect(rows).toEqual([{ listing: run?.listing, n: 600 }]);
});

it('has a turn for each document that is fetched, and needs none for those that have not changed', async () => {
  let turns = 0;
  const isContended = () => (turns += 1) < 0;
  const rate = new AdaptiveRate({ perSecond: 1, pressure: () => null });
  const { source, attempt, next } = await begun(120, { bulk: new BulkTurns({ rate, isContended }) });
  await attempt();
  expect(turns).toBe(120);
  await next();
  source.put('d7', 'changed');
  await attempt();
  expect(turns).toBe(121);
});

it('has the source read the next documents while it stores some, and waits for it before it ends', async () => {
  const { source, space, attempt } = await begun(250);
  const calls: string[] = [];
  const next = Promise.withResolvers<void>();
  let open = 0;
  source.prepare = async (refs) => {
    open += 1;
    calls.push(`prepare ${refs.length}`);
    if (calls.filter((call) => call.startsWith('prepare')).length === 2) await next.promise;
    open -= 1;
    return refs.length;
  };
  let fetched = 0;
  source.before = (request) => {
    if (request === 'fetch' && (fetched += 1) === 100) {
      calls.push('hundred fetched');
      next.resolve();
    }
  };
  await attempt();
  expect(calls).toEqual(['prepare 100', 'prepare 100', 'hundred fetched', 'prepare 50']);
  expect(open).toBe(0);
  expect(await space.contents()).toEqual(all(250));
});

/** Moves the time of the next request to the host of a source. */
async function moveHost(tenantId: string, seconds: number): Promise<string> {
  const { rows } = await shared.admin.query<{ at: string }>(
    `update source_hosts set next_at = clock_timestamp() + make_interval(secs => $2) where tenant_id = $1
     returning next_at::text as at`,
    [tenantId, seconds],
  );
  return rows[0]!.at;
}

it('sends no request ahead after the source has asked for a pause', async () => {
  const { source, space, attempt } = await begun(250);
  let prepared = 0;
  source.prepare = async (refs) => {
    prepared += 1;
    await moveHost(space.ids.tenantId, 3);
    return refs.length;
  };
  source.before = (request) => {
    if (request === 'fetch') throw new SourceFailure('rate_limited', 'Later.', { retryAfterMs: 60_000 });
  };
  await expect(attempt()).rejects.toMatchObject({ type: 'rate_limited' });
  expect(prepared).toBe(1);
});

it('ends the reading of the next documents when those before fail', async () => {
  const { source, attempt } = await begun(250);
  const ended: boolean[] = [];
  const ahead = Promise.withResolvers<void>();
  source.prepare = async (refs, signal) => {
    if (refs.includes('d0')) return refs.length;
    ahead.resolve();
    await sleep(3_000, undefined, { signal }).catch(() => undefined);
    ended.push(signal.aborted);
    signal.throwIfAborted();
    return refs.length;
  };
  source.before = async (request) => {
    if (request !== 'fetch') return;
    await ahead.promise;
    throw new SourceFailure('auth_failed', 'The credential has expired.');
  };
  await expect(attempt()).rejects.toMatchObject({ type: 'auth_failed' });
  expect(ended).toEqual([true]);
});

it('has documents read together when they begin, where it was too early to read them ahead', async () => {
  const { source, space, attempt } = await begun(250);
  const { tenantId } = space.ids;
  const prepared: number[] = [];
  let moved = '';
  source.prepare = async (refs) => {
    prepared.push(refs.length);
    // Longer than a step waits.
    if (prepared.length === 1) moved = await moveHost(tenantId, 60);
    return refs.length;
  };
  let fetched = 0;
  source.before = async (request) => {
    if (request !== 'fetch' || (fetched += 1) !== 100) return;
    await expect.poll(() => nextAt(tenantId)).not.toBe(moved);
    await moveHost(tenantId, -1);
  };
  await attempt();
  expect(prepared).toEqual([100, 100, 50]);
  expect(await space.contents()).toEqual(all(250));
});

it('has stored what it has fetched when the next documents of its page have to wait for the host', async () => {
  const { source, space, attempt } = await begun(150);
  // It is left out, so that the batch is not full.
  source.put('d0', 'x', { byteSize: 1_073_741_824 });
  let prepared = 0;
  source.prepare = async (refs) => {
    prepared += 1;
    // Longer than a step waits.
    await moveHost(space.ids.tenantId, 60);
    return refs.length;
  };
  expect(await attempt()).toMatchObject({ state: 'more', recordsFetched: 100 });
  expect(prepared).toBe(1);
  expect(Object.keys(await space.contents())).toHaveLength(99);
});

async function nextAt(tenantId: string): Promise<string> {
  const { rows } = await shared.admin.query<{ at: string }>(
    'select next_at::text as at from source_hosts where tenant_id = $1',
    [tenantId],
  );
  return rows[0]!.at;
}

it('has every run at the host obey a pause that the source asks for, also when the step has stored documents', async () => {
  const { source, space, attempt } = await begun(6);
  source.pageSize = 3;
  source.before = (request, cursor) => {
    if (request === 'list' && cursor === '3') {
      throw new SourceFailure('rate_limited', 'The source asks for a pause.', { retryAfterMs: 60_000 });
    }
  };
  expect(await attempt()).toEqual({ state: 'more', recordsFetched: 3, pauseMs: 60_000 });
  expect(await space.runs()).toMatchObject([{ added: 3, rateLimitedMs: 60_000, attempts: 0 }]);
  const { rows } = await shared.admin.query(
    `select next_at > clock_timestamp() + interval '30 seconds' as "isPaused" from source_hosts
     where tenant_id = $1 and host = 'm'`,
    [space.fixture.tenantId],
  );
  expect(rows).toEqual([{ isPaused: true }]);
});

it('takes no requests of the host for documents that are left out by their size', async () => {
  const { source, space, attempt } = await begun(600);
  for (const ref of source.documents.keys()) source.put(ref, 'x', { byteSize: 1_073_741_824 });
  await attempt();
  expect(await space.runs()).toMatchObject([{ skipped: 600, added: 0 }]);
  expect(source.take('fetch')).toEqual([]);
  // Requests move the time of the next one; of a second without any, half is left.
  const { rows } = await shared.admin.query<{ idle: boolean }>(
    `select next_at < clock_timestamp() - interval '0.5 seconds' as idle from source_hosts where tenant_id = $1`,
    [space.fixture.tenantId],
  );
  expect(rows).toEqual([{ idle: true }]);
});

it.each([true, false])(
  'deletes what is below a reference with it where the page says so: %s',
  async (withParts) => {
    const { source, space, attempt, detect, next } = await begun(3);
    for (const ref of ['d1/a', 'd1/b', 'd11/a', 'd1/a/c', 'e/d1']) source.put(ref, `Text of ${ref}.`);
    source.pageSize = 100;
    await attempt();
    await next();
    source.page = () => ({
      documents: [],
      gone: ['d1'],
      ...(withParts && { goneWithParts: true }),
      next: null,
      checkpoint: 'later',
      total: null,
      scope: 'changes',
    });
    await attempt();
    await detect();
    const left = ['d0', 'd2', 'd11/a', 'd1/a/c', 'e/d1', ...(withParts ? [] : ['d1/a', 'd1/b'])];
    expect(Object.keys(await space.contents()).toSorted()).toEqual(left.map((ref) => `${ref}.md`).toSorted());
  },
);

it('checks that documents exist by their key in a database that was empty before', async () => {
  const world = await openWorld();
  try {
    // Known to be empty, and not only new: of a table that was never vacuumed PostgreSQL expects ten pages.
    await world.admin.query('vacuum');
    const { attempt } = await begun(1_000, { world });
    await attempt();
    const reads = async () => {
      const { rows } = await world.admin.query<{ byKey: number; others: number }>(
        `select coalesce(sum(idx_tup_read) filter (where i.indisprimary), 0)::int as "byKey",
           coalesce(sum(idx_tup_read) filter (where not i.indisprimary), 0)::int as others
         from pg_stat_user_indexes s join pg_index i using (indexrelid) where s.relname = 'documents'`,
      );
      return rows[0]!;
    };
    // A session reports what it has read when it ends, or some time after.
    await world.admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    await expect.poll(async () => (await reads()).byKey).toBeGreaterThan(1_000);
    // While there are few, any index may do; each of 2,000 checks would read 500 on average.
    expect((await reads()).others).toBeLessThan(300_000);
  } finally {
    await world.stop();
  }
});

it('marks documents that have not changed in place, without an entry in an index', async () => {
  const world = await openWorld();
  try {
    const { attempt, next } = await begun(600, { world });
    await attempt();
    for (let runs = 0; runs < 3; runs += 1) {
      await next();
      await attempt();
    }
    await world.admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    const updates = async () => {
      const { rows } = await world.admin.query<{ all: number; inPlace: number }>(
        `select n_tup_upd::int as all, n_tup_hot_upd::int as "inPlace" from pg_stat_user_tables
         where relname = 'source_documents'`,
      );
      return rows[0]!;
    };
    await expect.poll(async () => (await updates()).all).toBeGreaterThanOrEqual(1_800);
    const { all: made, inPlace } = await updates();
    expect(inPlace / made).toBeGreaterThan(0.95);
  } finally {
    await world.stop();
  }
});
