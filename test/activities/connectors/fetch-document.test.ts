import { describe, expect, it } from 'vitest';
import { fetchDocument, type FetchWork } from '#activities/connectors/fetch-document.ts';
import type { Fetched } from '#domain/knowledge/connectors/source.ts';
import { noOtherWork } from '#test/support/no-other-work.ts';

const listed = { ref: 'a', name: 'a.md', version: '1', byteSize: 1, mediaType: null, url: null };
const outcomeOf = (fetched: Fetched) => {
  const open = { run: { mode: 'incremental' }, source: { fetch: () => Promise.resolve(fetched) } };
  const deps = { bulk: noOtherWork };
  const work = { deps, open, signal: AbortSignal.timeout(1_000) } as unknown as FetchWork;
  return fetchDocument(work, listed, null);
};

describe('a document that is skipped', () => {
  it('is so until its version changes', async () => {
    const skipped = { kind: 'skipped', code: 'too_large' } as const;
    expect(await outcomeOf(skipped)).toMatchObject({ is: 'skipped', version: '1' });
  });

  it('is tried again when it is forbidden, since a permission comes without another version', async () => {
    const forbidden = { kind: 'skipped', code: 'forbidden_by_source' } as const;
    expect(await outcomeOf(forbidden)).toMatchObject({ is: 'skipped', version: null });
  });
});
