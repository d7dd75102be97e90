import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readBlobs } from '#adapters/sources/git/read-blobs.ts';

const format = { name: 'sha1', idBytes: 20 } as const;
const soon = () => AbortSignal.timeout(30_000);
const idOf = (content: Buffer) =>
  createHash('sha1').update(`blob ${content.byteLength}\0`).update(content).digest('hex');

/** Little-endian groups of seven bits. */
function varint(value: number): Buffer {
  const bytes = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

interface Entry {
  data: Buffer;
  /** Index of the base in the pack, or its id; without one it is a file's content. */
  base?: number | string;
}

function packOf(entries: readonly Entry[]): Buffer {
  const head = Buffer.from('PACK\0\0\0\x02\0\0\0\0', 'latin1');
  head.writeUInt32BE(entries.length, 8);
  const parts = [head];
  const offsets: number[] = [];
  let at = head.byteLength;
  for (const { data, base } of entries) {
    const type = base === undefined ? 3 : typeof base === 'number' ? 6 : 7;
    const rest = Math.floor(data.byteLength / 16);
    const first = (type << 4) | (data.byteLength & 15) | (rest > 0 ? 0x80 : 0);
    const whole = Buffer.concat([
      Buffer.from([first]),
      rest > 0 ? varint(rest) : Buffer.alloc(0),
      typeof base === 'number' ? distance(at - (offsets[base] ?? 0)) : Buffer.from(base ?? '', 'hex'),
      deflateSync(data),
    ]);
    offsets.push(at);
    parts.push(whole);
    at += whole.byteLength;
  }
  return Buffer.concat([...parts, Buffer.alloc(20)]);
}

function distance(value: number): Buffer {
  const bytes = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) {
    rest -= 1;
    bytes.unshift((rest & 0x7f) | 0x80);
  }
  return Buffer.from(bytes);
}

async function* streamed(pack: Buffer) {
  yield pack;
}

const read = (entries: readonly Entry[], ids: readonly string[], signal = soon()) =>
  readBlobs(streamed(packOf(entries)), { ids, format }, signal);

/** That copies the whole base and adds some bytes. */
const deltaOf = (base: Buffer, added: Buffer) =>
  Buffer.concat([
    varint(base.byteLength),
    varint(base.byteLength + added.byteLength),
    Buffer.from([0x90, base.byteLength, added.byteLength]),
    added,
  ]);

const base = Buffer.from('base');
/** It claims 16 MB, and its only instruction is none. */
const lying = Buffer.concat([varint(4), varint(16_000_000), Buffer.from([0])]);

test('differences that claim much and hold nothing cost next to nothing', async () => {
  const lies = Array.from({ length: 3_000 }, () => ({ base: 0, data: lying }));
  const ids = Array.from({ length: 3_000 }, (_, at) => idOf(Buffer.from(`${at}`)));
  const before = process.cpuUsage();
  const blobs = await read([{ data: base }, ...lies], [...ids, idOf(base)]);
  const { user, system } = process.cpuUsage(before);
  expect([...blobs.keys()]).toEqual([idOf(base)]);
  expect((user + system) / 1_000).toBeLessThan(1_500);
});

test('a pack with more objects than files that were asked for is not read to its end', async () => {
  const contents = Array.from({ length: 2_000 }, (_, at) => Buffer.from(`content ${at}`));
  const entries = contents.map((data) => ({ data }));
  const [first, second, last] = [contents[0]!, contents[1]!, contents[1_999]!];
  const blobs = await read(entries, [first, second, last].map(idOf));
  expect([...blobs.keys()]).toEqual([idOf(first), idOf(second)]);
});

test('a base that stands beside what was asked for is used, and is no result', async () => {
  const added = [Buffer.from(' one'), Buffer.from(' two'), Buffer.from(' three')];
  const wanted = added.map((each) => Buffer.concat([base, each]));
  const blobs = await read(
    [
      { data: base },
      { base: 0, data: deltaOf(base, added[0]!) },
      { base: idOf(base), data: deltaOf(base, added[1]!) },
      { base: 1, data: deltaOf(wanted[0]!, Buffer.from(' more')) },
      { base: 0, data: deltaOf(base, added[2]!) },
    ],
    wanted.map(idOf),
  );
  expect([...blobs]).toEqual(wanted.map((content) => [idOf(content), content]));
});

test('what stands behind a malformed difference is left out', async () => {
  const behind = Buffer.from('behind');
  const blobs = await read(
    [{ data: base }, { base: 0, data: lying }, { data: behind }],
    [idOf(base), idOf(Buffer.from('other')), idOf(behind)],
  );
  expect([...blobs.keys()]).toEqual([idOf(base)]);
});

test('the signal ends the reading of a pack that has arrived', async () => {
  const stop = new AbortController();
  const contents = Array.from({ length: 2_000 }, (_, at) => Buffer.from(`content ${at}`));
  setTimeout(() => stop.abort(new Error('enough')), 1);
  const reading = read(
    contents.map((data) => ({ data })),
    contents.map(idOf),
    stop.signal,
  );
  await expect(reading).rejects.toThrow('enough');
});
