import type { DriveItem } from './wire.ts';

/** Clocks of the service that differ. */
const marginMs = 60_000;

/**
 * Whether changes concern files that they do not name. What is below a folder that was renamed, moved or deleted is not
 * listed with it, and only a folder that has been made since cannot have been that.
 * @param ended of the listing before, by the clock of the service
 */
export function concernOthers(items: readonly DriveItem[], ended: string): boolean {
  const newSince = Date.parse(ended) + marginMs;
  return items.some(({ root, folder, package: pack, deleted, createdDateTime }) => {
    const isContainer = (folder != null || pack != null) && root == null;
    return isContainer && (deleted != null || !(Date.parse(createdDateTime ?? '') > newSince));
  });
}
