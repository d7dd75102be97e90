import { describe, expect, it } from 'vitest';
import { findListsIn } from '#adapters/embeddings/find-lists.ts';
import { createVectorProcesses } from '#adapters/embeddings/vector-processes.ts';
import { quantise } from '#domain/knowledge/embeddings/quantise.ts';
import { unit, VectorLists } from '#domain/knowledge/embeddings/vector-lists.ts';
import { findListsHere } from '#test/support/find-lists-here.ts';
import { vectorProcesses } from '#test/support/vector-processes.ts';

const dims = 384;
const tenantId = 'tenant';
const signal = new AbortController().signal;
const findLists = findListsIn(createVectorProcesses());

const mean = new Float32Array(dims).fill(0.01);
const anyVector = () => unit(Float32Array.from({ length: dims }, () => Math.random() - 0.5));
const anyLists = () =>
  new VectorLists(
    Float32Array.from(Array.from({ length: 512 }, anyVector).flatMap((each) => [...each])),
    dims,
  );
const vectors = Array.from({ length: 1_100 }, () => quantise(anyVector(), mean));

/** Milliseconds that this thread is on a processor. */
async function busyMs<T>(work: () => Promise<T>): Promise<[ms: number, result: T]> {
  const before = process.threadCpuUsage();
  const result = await work();
  const { user, system } = process.threadCpuUsage(before);
  return [(user + system) / 1_000, result];
}

describe('the lists of many vectors', () => {
  it('are found in a process, so that the event loop has its time for others', async () => {
    const lists = anyLists();
    const search = { tenantId, vectors, mean, lists };
    await findLists({ ...search, vectors: vectors.slice(0, 1) }, signal);
    const [here, expected] = await busyMs(() => findListsHere(search, signal));
    const [outside, found] = await busyMs(() => findLists(search, signal));
    expect(found).toEqual(expected);
    expect(outside).toBeLessThan(here / 4);
  });

  it('are found among the lists of more spaces than a process knows', async () => {
    const spaces = Array.from({ length: 6 }, anyLists);
    for (const lists of [...spaces, ...spaces]) {
      const search = { tenantId, vectors: vectors.slice(0, 20), mean, lists };
      expect(await findLists(search, signal)).toEqual(await findListsHere(search, signal));
    }
  });

  it('are found at the pace of passages, and by the next process where one is killed', async () => {
    const lists = anyLists();
    let turns = 0;
    const kill = () => vectorProcesses().forEach((pid) => process.kill(pid, 'SIGKILL'));
    const paced = findListsIn(createVectorProcesses(), async (tenant) => {
      expect(tenant).toBe(tenantId);
      turns += 1;
      if (turns === 4 || turns === 7) setTimeout(kill, 1);
    });
    const search = { tenantId, vectors, mean, lists };
    expect(await paced(search, signal)).toEqual(await findListsHere(search, signal));
    expect(turns).toBeGreaterThanOrEqual(1_100 / 128);
  });

  it('of vectors that cannot be read are an error, and the process goes on', async () => {
    const search = { tenantId, vectors: [Buffer.alloc(3)], mean, lists: anyLists() };
    await expect(findLists(search, signal)).rejects.toThrow('cannot be found');
    const pids = vectorProcesses();
    expect(await findLists({ ...search, vectors: vectors.slice(0, 3) }, signal)).toHaveLength(3);
    expect(vectorProcesses()).toEqual(pids);
  });

  it('are not looked for when the caller has gone', async () => {
    const gone = AbortSignal.abort(new Error('gone'));
    await expect(findLists({ tenantId, vectors, mean, lists: anyLists() }, gone)).rejects.toThrow('gone');
  });
});
