import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SourceFailure, type ListedDocument, type SourcePage } from '#domain/knowledge/connectors/source.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { openMemorySteps } from '#test/support/sources/run-steps.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

/** A source that lists everything once and changes from then on; of its documents those in `broken` cannot be fetched. */
async function withCheckpoints(more: Partial<ListedDocument> = {}) {
  const opened = await openMemorySteps(world);
  const { source, space } = opened;
  const broken = new Set<string>();
  source.before = (kind, ref) => {
    if (kind === 'fetch' && broken.has(ref ?? '')) throw new SourceFailure('source_invalid', 'It fails.');
  };
  const checkpoints: (string | null)[] = [];
  const answer: Required<Pick<SourcePage, 'failures'>> = { failures: [] };
  source.page = (_, checkpoint) => {
    checkpoints.push(checkpoint);
    return {
      documents: checkpoint === null ? [...source.documents.keys()].map((ref) => source.listed(ref)) : [],
      gone: [],
      next: null,
      checkpoint: `after ${checkpoints.length}`,
      total: null,
      scope: checkpoint === null ? 'everything' : 'changes',
      ...answer,
    };
  };
  for (const ref of ['good', 'bad']) source.put(ref, `It is ${ref}.`, more);
  /** The status of a run by schedule, and what it fetched. */
  const scheduled = async () => {
    source.take('fetch');
    await opened.begin();
    await world.admin.query(
      `update sync_runs set trigger = 'schedule' where status = 'running' and connector_id = $1`,
      [space.connectorId],
    );
    await opened.fetch();
    await opened.detect();
    const { status } = await opened.finish();
    return [status, ...source.take('fetch')];
  };
  const later = (minutes: number) =>
    world.admin.query(
      `update source_documents set updated_at = updated_at - make_interval(mins => $2) where connector_id = $1`,
      [space.connectorId, minutes],
    );
  return { ...opened, answer, broken, checkpoints, scheduled, later };
}

describe('a document that cannot be fetched', () => {
  it('is fetched again by itself, with growing pauses, while the listing goes on from its checkpoint', async () => {
    const { broken, checkpoints, scheduled, later, space } = await withCheckpoints();
    broken.add('bad');
    expect(await scheduled()).toEqual(['completed_with_errors', 'fetch good', 'fetch bad']);
    expect(await scheduled()).toEqual(['completed_with_errors', 'fetch bad']);
    expect(await scheduled()).toEqual(['completed']);
    await later(11);
    expect(await scheduled()).toEqual(['completed_with_errors', 'fetch bad']);
    await later(11);
    expect(await scheduled()).toEqual(['completed']);
    await later(10);
    broken.clear();
    expect(await scheduled()).toEqual(['completed', 'fetch bad']);
    expect(await scheduled()).toEqual(['completed']);
    expect(checkpoints).toEqual([null, ...[1, 2, 3, 4, 5, 6].map((n) => `after ${n}`)]);
    expect(Object.keys(await space.contents())).toHaveLength(2);
  });

  it('is fetched without a pause by a run that a person asks for', async () => {
    const { broken, scheduled, source, whole } = await withCheckpoints();
    broken.add('bad');
    await scheduled();
    await scheduled();
    source.take('fetch');
    await whole();
    expect(source.take('fetch')).toEqual(['fetch bad']);
  });

  it('is gone with its next fetch when the source has it no more', async () => {
    const { broken, scheduled, source, space } = await withCheckpoints();
    broken.add('bad');
    await scheduled();
    source.documents.delete('bad');
    broken.clear();
    expect(await scheduled()).toEqual(['completed', 'fetch bad']);
    expect((await space.documents()).find(({ ref }) => ref === 'bad')?.state).toBe('skipped');
  });

  it('and is new and has readers is listed again: nobody else reads it', async () => {
    const { broken, checkpoints, scheduled, later } = await withCheckpoints({
      readers: { addresses: ['ada@example.com'], groups: [] },
    });
    broken.add('bad');
    await scheduled();
    await later(100_000);
    expect(await scheduled()).toEqual(['completed_with_errors', 'fetch bad']);
    expect(checkpoints).toEqual([null, null]);
  });

  it('and was deleted here is listed again with its readers: nobody else reads it', async () => {
    const { broken, checkpoints, scheduled, source, space } = await withCheckpoints({
      readers: { addresses: ['ada@example.com'], groups: [] },
    });
    await scheduled();
    broken.add('bad');
    const { page } = source;
    source.page = (cursor, checkpoint) => ({
      ...page!(cursor, checkpoint)!,
      documents: [{ ...source.listed('bad'), version: 'other' }],
    });
    expect(await scheduled()).toEqual(['completed_with_errors', 'fetch bad']);
    source.page = page;
    await world.admin.query(
      'delete from documents where id in (select document_id from source_documents where ref = $1 and connector_id = $2)',
      ['bad', space.connectorId],
    );
    expect(await scheduled()).toEqual(['completed']);
    broken.clear();
    expect(await scheduled()).toEqual(['completed']);
    expect(checkpoints.slice(0, 3)).toEqual([null, 'after 1', 'after 2']);
  });

  it('fails the run with most of the others that have changed', async () => {
    const { broken, scheduled, source } = await withCheckpoints();
    const refs = Array.from({ length: 20 }, (_, n) => `page${n}`);
    for (const ref of refs) source.put(ref, `It is ${ref}.`);
    await scheduled();
    for (const ref of refs) broken.add(ref);
    const { page } = source;
    source.page = (cursor, checkpoint) => ({
      ...page!(cursor, checkpoint)!,
      documents: refs.map((ref) => ({ ...source.listed(ref), version: 'other' })),
    });
    expect((await scheduled())[0]).toBe('failed');
  });

  it('and is one of more than five hundred is listed again with them', async () => {
    const { broken, checkpoints, scheduled, source } = await withCheckpoints();
    for (let n = 0; n < 501; n += 1) {
      source.put(`bad${n}`, 'It fails.');
      broken.add(`bad${n}`);
    }
    for (let n = 0; n < 600; n += 1) source.put(`good${n}`, `It is good ${n}.`);
    await scheduled();
    await scheduled();
    expect(checkpoints).toEqual([null, null]);
  });
});

describe('a root of the scope that cannot be read', () => {
  it('is named in the errors of the run, which goes on from its checkpoint and keeps documents', async () => {
    const { answer, checkpoints, scheduled, space } = await withCheckpoints();
    await scheduled();
    answer.failures = [
      { ref: 'https://dead.example.com/feed', code: 'scope_invalid', message: 'It is gone.' },
    ];
    expect(await scheduled()).toEqual(['completed_with_errors']);
    expect((await space.runs())[0]).toMatchObject({ errors: answer.failures, failed: 1, deleted: 0 });
    expect(await space.read()).toMatchObject({ status: 'active', failedRuns: 0 });
    await scheduled();
    expect(checkpoints).toEqual([null, 'after 1', 'after 2']);
    expect(Object.keys(await space.contents())).toHaveLength(2);
  });
});
