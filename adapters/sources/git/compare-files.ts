import type { FileList, ListedFile } from './file-list.ts';

export interface FilePart {
  changed: ListedFile[];
  gone: string[];
  /** The last path that was looked at; null: all were. */
  after: string | null;
}

/** Of one page. */
const maxFound = 500;
/** Of one page: the comparison must not hold the event loop. */
const maxCompared = 20_000;

/** A part of the files behind `after`. */
export function filePart(list: FileList, after: string | null): FilePart {
  const from = list.after(after);
  const end = Math.min(from + maxFound, list.count);
  const changed = Array.from({ length: end - from }, (_, index) => list.file(from + index));
  return { changed, gone: [], after: end === list.count ? null : (changed.at(-1)?.path ?? null) };
}

/** A part of what differs between two lists, of the paths behind `after`. */
export function changedPart(before: FileList, now: FileList, after: string | null): FilePart {
  const part: FilePart = { changed: [], gone: [], after: null };
  let [old, recent] = [before.after(after), now.after(after)];
  for (let compared = 0; old < before.count || recent < now.count; compared += 1) {
    if (part.changed.length + part.gone.length >= maxFound || compared >= maxCompared) {
      return part;
    }
    const order = orderOf(before, old, now, recent);
    const [was, is] = [order <= 0 ? before.file(old) : null, order >= 0 ? now.file(recent) : null];
    if (is === null) {
      if (was !== null) part.gone.push(was.path);
    } else if (is.id !== was?.id || is.kind !== was.kind) {
      part.changed.push(is);
    }
    part.after = (is ?? was)?.path ?? null;
    if (was !== null) old += 1;
    if (is !== null) recent += 1;
  }
  return { ...part, after: null };
}

/** Negative: the path of the list before comes first. */
function orderOf(before: FileList, old: number, now: FileList, recent: number): number {
  if (old >= before.count) return 1;
  return recent >= now.count ? -1 : before.compare(old, now.pathBytes(recent));
}
