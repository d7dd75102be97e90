import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { addUsers, deliverAll } from '#test/support/notification-world.ts';
import { ConnectorActors, type ActedConnector } from '#test/support/sources/connector-actors.ts';

let actors: ConnectorActors;

beforeAll(async () => {
  actors = await ConnectorActors.open();
});
afterAll(() => actors.stop());

const letters = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`d${100 + n}`, `Document ${n}.`]));
const unreachable = () => new SourceFailure('source_unreachable', 'The source does not answer.');

/** A run over so many documents, of which so many cannot be fetched, never more than three in a row. */
async function runOver(count: number, failures: number) {
  const connector = await actors.connect(letters(count));
  const refs = Object.keys(letters(count));
  const isFailing = (ref: string | null) => {
    const n = refs.indexOf(ref ?? '');
    return Math.floor(((n + 1) * failures) / count) > Math.floor((n * failures) / count);
  };
  expect(refs.filter(isFailing)).toHaveLength(failures);
  connector.source.before = (request, ref) => {
    if (request === 'fetch' && isFailing(ref)) throw unreachable();
  };
  return { ...connector, run: await connector.sync() };
}

const eventsOf = async ({ space }: Pick<ActedConnector, 'space'>, type: string) =>
  (
    await actors.world.admin.query<{ id: string; metadata: Record<string, unknown> }>(
      `select id, metadata from events where tenant_id = $1 and event_type = $2 order by id`,
      [space.fixture.tenantId, type],
    )
  ).rows;

const failedBySource = {
  status: 'failed',
  errorCode: 'source_unreachable',
  errorText: 'More than half of the documents could not be fetched.',
};

describe('a run whose documents could not all be fetched', () => {
  it.each([
    { documents: 20, failures: 10, is: 'exactly half of twenty', end: { status: 'completed_with_errors' } },
    { documents: 20, failures: 11, is: 'more than half of twenty', end: failedBySource },
    {
      documents: 19,
      failures: 12,
      is: 'more than half of nineteen',
      end: { status: 'completed_with_errors' },
    },
    { documents: 21, failures: 11, is: 'more than half of twenty-one', end: failedBySource },
  ])('that is $is: $end.status', async ({ documents, failures, end }) => {
    const { run, space } = await runOver(documents, failures);
    expect(run).toMatchObject({
      errorCode: null,
      ...end,
      recordsFetched: documents,
      failed: failures,
      added: documents - failures,
    });
    expect(Object.keys(await space.contents())).toHaveLength(documents - failures);
    const isFailed = end.status === 'failed';
    expect(await space.read()).toMatchObject({
      status: isFailed ? 'pending' : 'active',
      failedRuns: isFailed ? 1 : 0,
    });
    expect(await eventsOf({ space }, 'collection.sync_failed')).toHaveLength(isFailed ? 1 : 0);
  });
});

describe('the guard of deletions', () => {
  it('is an event of the run that it stopped, of which administrators are notified, and of no other run', async () => {
    const { source, space, sync } = await actors.connect(letters(40));
    const [administrator] = await addUsers(actors.world.admin, space.fixture, {
      count: 1,
      role: 'space_admin',
    });
    await sync();
    source.documents.clear();
    source.put('d101', 'Document 1.', { version: '1' });
    const held = await sync();
    expect(held).toMatchObject({ errorCode: 'deletion_guard', deletesHeld: 39 });
    const events = await eventsOf({ space }, 'collection.deletion_guard_triggered');
    expect(events).toEqual([
      {
        id: expect.any(String) as string,
        metadata: expect.objectContaining({ sync_run_id: held.id, deletes_held: 39 }) as object,
      },
    ]);
    const { unitOfWork, admin } = actors.world;
    expect(await deliverAll(unitOfWork, space.fixture.tenantId, events[0]!.id)).toBeGreaterThan(0);
    const { rows } = await admin.query(
      `select title, body from notifications where user_id = $1 and event_type = $2`,
      [administrator, 'collection.deletion_guard_triggered'],
    );
    expect(rows).toEqual([
      {
        title: 'A connector of the space S holds back many deletions',
        body: `39 documents of the connector (memory) of collection ${space.collectionId}, space ${space.fixture.spaceId} are missing at the source, or cannot be read there. A run that confirms the deletions applies them.`,
      },
    ]);

    const notifyingHeld = async () => {
      const held = (await eventsOf({ space }, 'collection.deletion_guard_triggered')).map(({ id }) => id);
      const fanOuts = await admin.query('select event_id from fan_outs where event_id = any($1)', [held]);
      return [held.length, fanOuts.rowCount];
    };
    const [, first] = await notifyingHeld();
    expect(await sync()).toMatchObject({ deletesHeld: 39 });
    expect(await notifyingHeld()).toEqual([2, first]);

    await sync({ confirmDeletions: true });
    expect(await eventsOf({ space }, 'collection.deletion_guard_triggered')).toHaveLength(2);
  });
});

describe('the current details of a run', () => {
  it('say what it does, and that it waits because the source asks for a pause, and how it ended', async () => {
    const { source, space, begin, end } = await actors.connect(letters(6));
    const gates = new Map<string, () => void>();
    const hold = (request: string) => new Promise<void>((resolve) => gates.set(request, resolve));
    const reached = (request: string) => expect.poll(() => gates.has(request)).toBe(true);
    let pauses = 1;
    source.before = (request, argument) => {
      if (request === 'list' && argument === '3' && pauses > 0) {
        pauses -= 1;
        throw new SourceFailure('rate_limited', 'The source asks for a pause.', { retryAfterMs: 4_000 });
      }
      return ['check', 'exists'].includes(request) ? hold(request) : undefined;
    };
    const details = async (runId: string) => {
      const { tenantId } = space.fixture;
      const handle = actors.worker.client.getHandle(workflowIdOf('syncConnector', { tenantId, runId }));
      return (await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata')).currentDetails;
    };
    const first = await begin();
    await reached('check');
    expect(await details(first)).toBe('Checking the source.');
    gates.get('check')!();
    await expect
      .poll(() => details(first), { interval: 50 })
      .toBe('3 documents seen. The source asks for a pause of 4 s.');
    expect(await end(first)).toMatchObject({ status: 'completed', rateLimitedMs: 4_000, attempts: 0 });
    await expect.poll(() => details(first)).toBe('The run is completed.');

    gates.clear();
    source.documents.delete('d101');
    const second = await begin();
    await reached('check');
    gates.get('check')!();
    await reached('exists');
    expect(await details(second)).toBe('Looking for documents that are gone at the source.');
    gates.get('exists')!();
    await end(second);
    await expect.poll(() => details(second)).toBe('The run is completed.');
  });
});
