import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'vitest';
import { sourceFilename } from '#domain/knowledge/synchronisation/source-filename.ts';
import type { ConnectorSpace } from '../support/sources/connector-space.ts';
import type { LargeProvider } from './providers.ts';

export type Documents = ReadonlyMap<string, string>;

const inFolder = 1_000;

/** Small documents, a thousand in a folder, each with a word of its own. */
export function makeDocuments(count: number): Map<string, string> {
  return new Map(
    Array.from({ length: count }, (_, n) => [
      `folder ${Math.floor(n / inFolder)}/d${n}.md`,
      `Document ${n} is about word${n}x.`,
    ]),
  );
}

/** Works through items, some at the same time. */
export async function eachOf<T>(
  items: Iterable<T>,
  writers: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const queue = left.values();
  await Promise.all(
    Array.from({ length: Math.min(writers, left.length) }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

/** The collection holds these documents with these texts, and no others. */
export async function expectHeld(
  space: ConnectorSpace,
  documents: Documents,
  { nameOf }: Pick<LargeProvider, 'nameOf'>,
): Promise<void> {
  const held = new Map(Object.entries(await space.contents()));
  const wrong = [...documents].filter(
    ([name, text]) => held.get(sourceFilename(nameOf(name)))?.includes(text) !== true,
  );
  expect(wrong.slice(0, 5)).toEqual([]);
  expect(held.size).toBe(documents.size);
}

/**
 * The most bytes that are in use in this process after a collection, above those of the beginning, in MiB. It holds the
 * worker, and the servers that are no programs of their own. Resident memory would say how seldom it collects.
 */
export function watchLiveMemory(): () => number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const live = () => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    return (heapUsed + external) / 1_048_576;
  };
  const before = live();
  let highest = before;
  const sample = () => {
    highest = Math.max(highest, live());
  };
  const timer = setInterval(sample, 2_000);
  return () => {
    clearInterval(timer);
    sample();
    return Math.round(highest - before);
  };
}
