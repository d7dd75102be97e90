import { expect } from 'vitest';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import { listAll } from './open-source.ts';

/** The check passes, and a complete listing of one page has no documents. */
export async function expectEmpty(source: Source, signal: AbortSignal): Promise<void> {
  await source.check(signal);
  expect(await listAll(source)).toMatchObject({
    documents: [],
    pages: 1,
    scope: 'everything',
    truncated: false,
  });
}
