import { appendFileSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileAnchors } from '#adapters/events/file-anchors.ts';
import { parseAnchors, type Anchor } from '#domain/foundation/events/anchor.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';

const path = () => join(mkdtempSync(join(tmpdir(), 'anchors-')), 'anchors.jsonl');
const anchor = (seq: number): Anchor => ({
  at: '2026-11-01T00:00:00.000Z',
  tenant_id: newId(),
  seq,
  event_count: seq,
  head: 'ab',
  checkpoint_seq: 0,
  retention_days: 365,
});
const seqs = (file: string) => parseAnchors(readFileSync(file, 'utf8')).map(({ seq }) => seq);

describe('the anchor file', () => {
  it('grows by a line for each anchor', async () => {
    const file = path();
    await fileAnchors(file).append([anchor(1), anchor(2)]);
    await fileAnchors(file).append([anchor(3)]);
    expect(seqs(file)).toEqual([1, 2, 3]);
  });

  it('is readable after a crash has cut off its last line, before and behind the next anchor', async () => {
    const file = path();
    await fileAnchors(file).append([anchor(1)]);
    appendFileSync(file, JSON.stringify(anchor(2)).slice(0, 60));
    expect(seqs(file)).toEqual([1]);
    await fileAnchors(file).append([anchor(3)]);
    await fileAnchors(file).append([anchor(4)]);
    expect(seqs(file)).toEqual([1, 3, 4]);
  });

  it('with a line that is no anchor and was not cut off is refused', async () => {
    const file = path();
    appendFileSync(file, `${JSON.stringify(anchor(1)).slice(0, 60)}\n`);
    await fileAnchors(file).append([anchor(2)]);
    expect(() => seqs(file)).toThrow('Line 1 of the anchor file is no anchor.');
  });
});
