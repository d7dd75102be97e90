import { z } from 'zod';
import { SourceFailure, type SourcePage } from '#domain/knowledge/connectors/source.ts';
import { LoopTurns } from '#domain/foundation/kernel/loop-turns.ts';
import { indexAfter, type DavFile, type FolderListing } from './folder-listing.ts';

/**
 * Where a walk is: in a folder, behind a file. Folders come in the order of their names, each before what is below it,
 * so the way on is found from this alone, however many folders wait.
 */
const position = z.strictObject({
  folder: z.string(),
  /** The last file that was listed; null: none of the folder was. */
  after: z.string().nullable(),
  /** Visited so far. */
  folders: z.int().nonnegative(),
  files: z.int().nonnegative(),
  /** A limit left something out. */
  truncated: z.boolean(),
});

export type Position = z.infer<typeof position>;

export interface WalkInput {
  /** Where the walk begins, and what it does not leave. */
  root: string;
  /** Null: the folder is not there, or may not be read. */
  read(folder: string): Promise<FolderListing | null>;
  /** Whether anything below a folder can be of interest. */
  enters(folder: string): boolean;
  lists(ref: string): boolean;
}

const limits = {
  depth: 32,
  folders: 20_000,
  files: 200_000,
  refBytes: 2_000,
  page: { files: 100, folders: 20, ms: 10_000 },
};

export function parsePosition(cursor: string): Position {
  try {
    return position.parse(JSON.parse(cursor));
  } catch (error) {
    throw new SourceFailure('cursor_expired', 'The position in the listing is unknown.', { cause: error });
  }
}

export interface WalkPage extends Pick<SourcePage, 'next'> {
  files: { ref: string; file: DavFile }[];
  truncated: boolean;
}

/** The next part of a walk; it ends early where folders hold little or the server is slow. */
export async function walkOn(from: Position | null, walk: WalkInput): Promise<WalkPage> {
  const at = from ?? { folder: walk.root, after: null, folders: 0, files: 0, truncated: false };
  const found: WalkPage['files'] = [];
  const begun = performance.now();
  for (let visits = 1; ; visits += 1) {
    const listing = await walk.read(at.folder);
    at.folders += at.after === null ? 1 : 0;
    const isWhole = listing === null || (await takeFiles(at, listing, walk, found));
    if (at.files >= limits.files || at.folders >= limits.folders) {
      return { files: found, next: null, truncated: true };
    }
    const following = isWhole ? await nextFolder(at, walk) : at.folder;
    if (following === null) {
      return { files: found, next: null, truncated: at.truncated };
    }
    if (isWhole) Object.assign(at, { folder: following, after: null });
    const { files, folders, ms } = limits.page;
    if (found.length >= files || visits >= folders || performance.now() - begun > ms) {
      return { files: found, next: JSON.stringify(at), truncated: false };
    }
  }
}

/** @returns whether the folder has no more files */
async function takeFiles(
  at: Position,
  listing: FolderListing,
  walk: WalkInput,
  found: WalkPage['files'],
): Promise<boolean> {
  const turns = new LoopTurns();
  const from = at.after === null ? 0 : indexAfter(listing.files, at.after, ({ name }) => name);
  for (const file of listing.files.slice(from)) {
    if (found.length >= limits.page.files) return false;
    const ref = join(at.folder, file.name);
    at.after = file.name;
    await turns.pass();
    if (!walk.lists(ref)) continue;
    if (Buffer.byteLength(ref) > limits.refBytes) {
      at.truncated = true;
      continue;
    }
    at.files += 1;
    found.push({ ref, file });
  }
  return true;
}

/** The first folder below this one, or else the next one beside it or beside one above it. */
async function nextFolder(at: Position, walk: WalkInput): Promise<string | null> {
  let { folder } = at;
  const isTooDeep = depthOf(folder) - depthOf(walk.root) >= limits.depth;
  let after = '';
  const turns = new LoopTurns();
  for (;;) {
    const names = (await walk.read(folder))?.folders ?? [];
    for (const name of names.slice(indexAfter(names, after, (each) => each))) {
      const path = join(folder, name);
      await turns.pass();
      if (!walk.enters(path)) continue;
      if ((isTooDeep && folder === at.folder) || Buffer.byteLength(path) > limits.refBytes) {
        at.truncated = true;
        continue;
      }
      return path;
    }
    if (folder === walk.root) return null;
    const slash = folder.lastIndexOf('/');
    after = folder.slice(slash + 1);
    folder = slash === -1 ? '' : folder.slice(0, slash);
  }
}

const join = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);
const depthOf = (folder: string): number => (folder === '' ? 0 : folder.split('/').length);
