import type { BigIntStats } from 'node:fs';

const secondNs = 1_000_000_000n;
/** A clock that ticks: several changes may get the same time. */
const tickNs = 100_000_000n;
/** Of file systems that store whole seconds, or every other one. */
const coarseNs = 2_100_000_000n;

/**
 * Equal for equal content. Null where the file was changed so recently that another change could get the same time.
 */
export function fileVersion({ mtimeNs, size, ino }: BigIntStats): string | null {
  const age = BigInt(Date.now()) * 1_000_000n - mtimeNs;
  const precision = mtimeNs % secondNs === 0n ? coarseNs : tickNs;
  return age >= 0n && age < precision ? null : `${mtimeNs}-${size}-${ino}`;
}
