import { appendFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileAnchors } from '#adapters/events/file-anchors.ts';
import type { Anchor } from '#domain/foundation/events/anchor.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { readAnchors } from '../../bin/platform/read-anchors.ts';

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
const seqs = async (...files: string[]) =>
  [...(await readAnchors(files)).values()].flat().map(({ seq }) => seq);

describe('the anchor file', () => {
  it('grows by a line for each anchor', async () => {
    const file = path();
    await fileAnchors(file).append([anchor(1), anchor(2)]);
    await fileAnchors(file).append([anchor(3)]);
    expect(await seqs(file)).toEqual([1, 2, 3]);
  });

  it('is readable after a crash has cut off its last line, before and behind the next anchor', async () => {
    const file = path();
    await fileAnchors(file).append([anchor(1)]);
    appendFileSync(file, JSON.stringify(anchor(2)).slice(0, 60));
    expect(await seqs(file)).toEqual([1]);
    await fileAnchors(file).append([anchor(3)]);
    await fileAnchors(file).append([anchor(4)]);
    expect(await seqs(file)).toEqual([1, 3, 4]);
  });

  it('with a line that is no anchor and was not cut off is refused', async () => {
    const file = path();
    appendFileSync(file, `${JSON.stringify(anchor(1)).slice(0, 60)}\n`);
    await fileAnchors(file).append([anchor(2)]);
    await expect(seqs(file)).rejects.toThrow('Line 1 of the anchor file is no anchor.');
  });

  it('names the last anchor of a tenant that this process wrote', async () => {
    const log = fileAnchors(path());
    const first = anchor(1);
    await log.append([first, anchor(1)]);
    expect(log.lastOf(first.tenant_id)).toEqual(first);
    expect(fileAnchors(undefined).lastOf(first.tenant_id)).toBeUndefined();
  });

  it('of any size is read by lines and by tenants, and heads that come again count by their first and last time', async () => {
    const [one, other] = [anchor(1), anchor(1)];
    const [file, later] = [path(), path()];
    const at = (hour: number) => new Date(Date.UTC(2026, 10, 1, hour)).toISOString();
    const text = (line: Anchor, hour: number) => `${JSON.stringify({ ...line, at: at(hour) })}\n`;
    for (let hour = 0; hour < 3_000; hour += 100) {
      const block = Array.from({ length: 100 }, (_, n) => text(one, hour + n) + text(other, hour + n));
      appendFileSync(file, block.join(''));
    }
    appendFileSync(later, text({ ...one, seq: 2 }, 3_000));
    const byTenant = await readAnchors([later, file]);
    expect(byTenant.get(one.tenant_id)!.map((line) => [line.seq, line.at])).toEqual([
      [1, at(0)],
      [1, at(2_999)],
      [2, at(3_000)],
    ]);
    expect([...(await readAnchors([file, later], other.tenant_id)).keys()]).toEqual([other.tenant_id]);
  });
});
