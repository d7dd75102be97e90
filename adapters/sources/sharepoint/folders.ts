import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { GraphClient } from './graph-client.ts';
import type { DriveItem } from './wire.ts';

/** More than SharePoint allows: names of a path have 400 characters together. */
const maxDepth = 200;
const maxKnown = 50_000;
/** Requests for folders of the files of one page. */
const maxRequests = 5_000;
/** Folders that are asked for at once. */
const atOnce = 5;

interface Folder {
  name: string;
  /** Null: it is the root. */
  parent: string | null;
}

/**
 * The folders of one drive. Listings of changes name the folder of a file by its id alone, so paths are made from the
 * names of folders: those of the listing, and those that it did not contain, by a request for each.
 */
export class Folders {
  readonly #client: GraphClient;
  readonly #driveId: string;
  readonly #known = new Map<string, Folder>();
  #requests = 0;

  constructor(client: GraphClient, driveId: string) {
    this.#client = client;
    this.#driveId = driveId;
  }

  /** Folders as a listing shows them; later ones count. */
  note(items: readonly DriveItem[]): void {
    if (this.#known.size > maxKnown) {
      this.#known.clear();
    }
    for (const item of items) {
      const folder = folderOf(item);
      if (folder !== null) {
        this.#known.set(item.id, folder);
      }
    }
  }

  /**
   * Paths of files from the root of the drive, by their ids. Those whose folders the service does not show are left
   * out.
   */
  async paths(files: readonly DriveItem[], signal: AbortSignal): Promise<Map<string, string>> {
    this.#requests = 0;
    const above = [...new Set(files.flatMap(({ parentReference: parent }) => parent?.id ?? []))];
    const found = new Map<string, string[] | null>();
    for (let at = 0; at < above.length; at += atOnce) {
      const some = above.slice(at, at + atOnce);
      const names = await Promise.all(some.map((id) => this.#namesTo(id, signal)));
      some.forEach((id, index) => found.set(id, names[index] ?? null));
    }
    return new Map(
      files.flatMap(({ id, name, parentReference: parent }): [string, string][] => {
        const names = found.get(parent?.id ?? '') ?? null;
        return names === null || name == null ? [] : [[id, [...names, name].join('/')]];
      }),
    );
  }

  /** The names of a folder and of those above it; null: one of them is not shown. */
  async #namesTo(id: string, signal: AbortSignal): Promise<string[] | null> {
    const names: string[] = [];
    let at: string | null = id;
    for (let depth = 0; at !== null; depth += 1) {
      const folder: Folder | null = depth < maxDepth ? await this.#folder(at, signal) : null;
      if (folder === null) {
        return null;
      }
      if (folder.parent !== null) {
        names.unshift(folder.name);
      }
      at = folder.parent;
    }
    return names;
  }

  async #folder(id: string, signal: AbortSignal): Promise<Folder | null> {
    const known = this.#known.get(id);
    if (known !== undefined) {
      return known;
    }
    this.#requests += 1;
    if (this.#requests > maxRequests) {
      throw new SourceFailure('source_invalid', 'The folders of a page of SharePoint have no end.');
    }
    const item = await this.#client.item(this.#driveId, id, signal);
    const folder = item === null ? null : folderOf(item);
    if (folder !== null) {
      this.#known.set(id, folder);
    }
    return folder;
  }
}

function folderOf({ name, root, folder, package: pack, deleted, parentReference }: DriveItem): Folder | null {
  if (root != null) {
    return { name: '', parent: null };
  }
  const parent = parentReference?.id ?? null;
  const isFolder = (folder != null || pack != null) && deleted == null;
  return isFolder && name != null && parent !== null ? { name, parent } : null;
}
