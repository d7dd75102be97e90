import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { GraphClient } from './graph-client.ts';
import { maxPathLength, type DriveItem } from './wire.ts';

/** More than SharePoint allows: names of a path have 400 characters together. */
const maxDepth = 200;
/** Characters of the folders that are known, each of which has some more. */
const maxKnown = 8_000_000;
const charactersMore = 100;
/** Requests for folders of the files of one page. */
const maxRequests = 5_000;
/** Folders that are asked for at once. */
const atOnce = 5;

interface Folder {
  /** Null: too long for any path. */
  name: string | null;
  /** Null: it is the root. */
  parent: string | null;
}

/** One search for paths: its requests, and the folders that it did not find. */
interface Search {
  signal: AbortSignal;
  requests: number;
  missing: Set<string>;
}

/**
 * The folders of one drive. Listings of changes name the folder of a file by its id alone, so paths are made from the
 * names of folders: those of the listing, and those that it did not contain, by a request for each.
 */
export class Folders {
  readonly #client: GraphClient;
  readonly #driveId: string;
  readonly #limits: { requests: number };
  readonly #known = new Map<string, Folder>();
  #characters = 0;

  constructor(client: GraphClient, driveId: string, limits = { requests: maxRequests }) {
    this.#client = client;
    this.#driveId = driveId;
    this.#limits = limits;
  }

  /** Folders as a listing shows them; later ones count. */
  note(items: readonly DriveItem[]): void {
    for (const item of items) {
      const folder = folderOf(item);
      if (folder !== null) {
        this.#add(item.id, folder);
      }
    }
  }

  /**
   * Paths of files from the root of the drive, by their ids. Unknown paths are left out: the service does not show a
   * folder of them at the moment, or they are longer than any path of it.
   * @throws SourceFailure
   */
  async paths(files: readonly DriveItem[], signal: AbortSignal): Promise<Map<string, string>> {
    const search: Search = { signal, requests: 0, missing: new Set() };
    const above = [...new Set(files.flatMap(({ parentReference: parent }) => parent?.id ?? []))];
    const found = new Map<string, string | null>();
    for (let at = 0; at < above.length; at += atOnce) {
      const some = above.slice(at, at + atOnce);
      const paths = await Promise.all(some.map((id) => this.#pathOf(id, search)));
      some.forEach((id, index) => found.set(id, paths[index] ?? null));
    }
    return new Map(
      files.flatMap(({ id, name, parentReference: parent }): [string, string][] => {
        const folder = found.get(parent?.id ?? '') ?? null;
        const isKnown = folder !== null && name != null && folder.length + name.length <= maxPathLength;
        return isKnown ? [[id, folder + name]] : [];
      }),
    );
  }

  /** What is needed again is asked for. */
  forget(): void {
    this.#known.clear();
    this.#characters = 0;
  }

  /** The path of a folder, with a slash at its end; null: unknown. */
  async #pathOf(id: string, search: Search): Promise<string | null> {
    let path = '';
    let at: string | null = id;
    for (let depth = 0; at !== null; depth += 1) {
      const folder: Folder | null = depth < maxDepth ? await this.#folder(at, search) : null;
      if (folder === null || folder.name === null || path.length + folder.name.length > maxPathLength) {
        return null;
      }
      if (folder.parent !== null) {
        path = `${folder.name}/${path}`;
      }
      at = folder.parent;
    }
    return path;
  }

  async #folder(id: string, search: Search): Promise<Folder | null> {
    const known = this.#known.get(id);
    if (known !== undefined || search.missing.has(id)) {
      return known ?? null;
    }
    search.requests += 1;
    if (search.requests > this.#limits.requests) {
      throw new SourceFailure('source_invalid', 'The folders of a page of SharePoint have no end.');
    }
    const item = await this.#client.item(this.#driveId, id, search.signal);
    const folder = item === null ? null : folderOf(item);
    if (folder === null) {
      search.missing.add(id);
    } else {
      this.#add(id, folder);
    }
    return folder;
  }

  #add(id: string, folder: Folder): void {
    if (this.#characters > maxKnown) {
      this.forget();
    }
    this.#known.set(id, folder);
    this.#characters +=
      id.length + (folder.name?.length ?? 0) + (folder.parent?.length ?? 0) + charactersMore;
  }
}

function folderOf({ name, root, folder, package: pack, deleted, parentReference }: DriveItem): Folder | null {
  if (root != null) {
    return { name: '', parent: null };
  }
  const parent = parentReference?.id ?? null;
  const isFolder = (folder != null || pack != null) && deleted == null;
  return isFolder && name !== undefined && parent !== null ? { name, parent } : null;
}
