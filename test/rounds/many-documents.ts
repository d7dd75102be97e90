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

/** The highest resident memory of this process, which holds the worker and most servers, above that of the beginning. */
export function watchOwnMemory(): () => number {
  const resident = () => process.memoryUsage.rss() / 1_048_576;
  const before = resident();
  let highest = before;
  const timer = setInterval(() => {
    highest = Math.max(highest, resident());
  }, 250);
  return () => {
    clearInterval(timer);
    return Math.round(Math.max(highest, resident()) - before);
  };
}
