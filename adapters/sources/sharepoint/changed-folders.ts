import type { DriveItem } from './wire.ts';

/** Clocks of the service that differ. */
const marginMs = 60_000;

/**
 * Whether changes concern files that they do not name. What is below a folder that was renamed, moved or deleted is not
 * listed with it, and only a folder that has been made since cannot have been that. A time of its making that is still
 * to come says nothing.
 * @param ended of the listing before, by the clock that was ahead
 * @param now by the clock that is ahead
 */
export function concernOthers(
  items: readonly DriveItem[],
  { ended, now }: { ended: string; now: string },
): boolean {
  const [after, until] = [Date.parse(ended) + marginMs, Date.parse(now) + marginMs];
  return items.some(({ root, folder, package: pack, deleted, createdDateTime }) => {
    const isContainer = (folder != null || pack != null) && root == null;
    const created = Date.parse(createdDateTime ?? '');
    const isNew = created > after && created <= until;
    return isContainer && (deleted != null || !isNew);
  });
}
