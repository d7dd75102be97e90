import { expect, test } from 'vitest';
import { readPktLines } from '#adapters/sources/git/pkt-line.ts';

const line = (text: string) => `${(Buffer.byteLength(text) + 4).toString(16).padStart(4, '0')}${text}`;

function* chunksOf(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size);
}

async function textsOf(body: Iterable<Uint8Array>): Promise<string[]> {
  const texts = [];
  for await (const each of readPktLines(body)) {
    texts.push(typeof each === 'string' ? each : Buffer.from(each).toString());
  }
  return texts;
}

test('lines are the same, wherever the body is divided', async () => {
  const body = Buffer.from(`${line('one')}0001${line('')}${line('longer than one')}00020000${line('end')}`);
  const expected = ['one', 'delimiter', '', 'longer than one', 'flush', 'end'];
  for (let size = 1; size <= body.byteLength; size += 1) {
    expect(await textsOf(chunksOf(body, size))).toEqual(expected);
    const withEmpty = [...chunksOf(body, size)].flatMap((chunk) => [Buffer.alloc(0), chunk]);
    expect(await textsOf(withEmpty)).toEqual(expected);
  }
});

test('a body that ends within a line is cut off, wherever', async () => {
  const body = Buffer.from(`${line('one')}${line('two')}`);
  for (const length of [8, 10, 11, 13]) {
    const cut = body.subarray(0, length);
    await expect(textsOf(chunksOf(cut, 3))).rejects.toMatchObject({ code: 'source_unreachable' });
  }
});

test('long lines that arrive byte by byte take time by their length alone', async () => {
  const body = Buffer.from(line('x'.repeat(65_000)).repeat(8));
  const before = process.cpuUsage();
  expect(await textsOf(chunksOf(body, 1))).toHaveLength(8);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(2_000);
});
