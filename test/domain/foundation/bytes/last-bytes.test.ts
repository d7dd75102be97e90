import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { LastBytes } from '#domain/foundation/bytes/last-bytes.ts';

it('keeps the last bytes of any pieces', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 20 }),
      fc.array(fc.uint8Array({ maxLength: 50 })),
      (max, pieces) => {
        const last = new LastBytes(max);
        for (const piece of pieces) last.add(piece);
        expect(Buffer.from(last.bytes).toString('hex')).toBe(
          Buffer.concat(pieces).subarray(-max).toString('hex'),
        );
      },
    ),
  );
});

it('takes its time from the length of the stream alone, however small its pieces are', () => {
  const last = new LastBytes(65_536);
  const piece = Buffer.alloc(8, 'x');
  const before = process.cpuUsage();
  for (let n = 0; n < 500_000; n += 1) last.add(piece);
  const { user, system } = process.cpuUsage(before);
  // 32 GB would be copied if each piece moved what is kept.
  expect((user + system) / 1_000).toBeLessThan(1_500);
  expect(last.bytes.byteLength).toBe(65_536);
});
