import { SourceFailure, type ListedDocument } from '#domain/knowledge/connectors/source.ts';
import { concernOthers } from './changed-folders.ts';
import { LoopTurns } from '#domain/foundation/kernel/loop-turns.ts';
import { isDocument, refOf, toDocument } from './document.ts';
import { Folders } from './folders.ts';
import type { GraphClient } from './graph-client.ts';
import type { PageTimes } from './page-times.ts';
import type { Drive, DriveItem } from './wire.ts';

export interface LibraryPage {
  documents: ListedDocument[];
  /** References that are no document of the scope any more; what has an unknown path is in neither list. */
  gone: string[];
  /** Of the next page or, after the last one, of changes. */
  link: string;
  isLast: boolean;
  times: PageTimes;
}

/** One document library. */
export class Library {
  readonly drive: Drive;
  readonly #client: GraphClient;
  readonly #accepts: (path: string) => boolean;
  readonly #folders: Folders;

  constructor(client: GraphClient, drive: Drive, accepts: (path: string) => boolean) {
    this.drive = drive;
    this.#client = client;
    this.#accepts = accepts;
    this.#folders = new Folders(client, drive.id);
  }

  /**
   * @param since end of the listing before, after which changes are listed; null: everything is
   * @throws SourceFailure `cursor_expired` also where changes do not say all that has changed
   */
  async page(
    { link, since }: { link: string | null; since: string | null },
    signal: AbortSignal,
  ): Promise<LibraryPage> {
    const { items, ...place } = await this.#client.delta(this.drive.id, link, signal);
    if (since !== null && concernOthers(items, { ended: since, now: place.times.later })) {
      throw new SourceFailure('cursor_expired', 'A folder has changed: everything has to be listed.');
    }
    this.#folders.note(items);
    // Of several changes of an item the last counts.
    const last = new Map(items.map((item) => [item.id, item]));
    const files = [...last.values()].filter(isDocument);
    const paths = await this.#folders.paths(files, signal);
    const unknown = new Set(files.map(({ id }) => id).filter((id) => !paths.has(id)));
    if (unknown.size > 0) {
      await this.#client.confirm(this.drive.id, signal);
    }
    const documents: ListedDocument[] = [];
    const turns = new LoopTurns();
    for (const item of files) {
      const path = paths.get(item.id);
      if (path !== undefined && this.#accepts(path)) {
        documents.push(toDocument(this.drive, item, path));
      }
      await turns.pass(signal);
    }
    if (place.isLast) {
      this.#folders.forget();
    }
    const listed = new Set(documents.map(({ ref }) => ref));
    const gone = [...last.values()]
      .filter((item) => isNoFolder(item) && !unknown.has(item.id))
      .map(({ id }) => refOf(this.drive.id, id))
      .filter((ref) => !listed.has(ref));
    return { documents, gone, ...place };
  }

  /**
   * Null: it is no document of the scope.
   * @throws SourceFailure also where its path is unknown, and with it whether it is in the scope
   */
  async find(id: string, signal: AbortSignal): Promise<DriveItem | null> {
    const item = await this.#client.item(this.drive.id, id, signal);
    if (item === null) {
      await this.#client.confirm(this.drive.id, signal);
      return null;
    }
    if (!isDocument(item)) {
      return null;
    }
    const path = (await this.#folders.paths([item], signal)).get(item.id);
    if (path === undefined) {
      await this.#client.confirm(this.drive.id, signal);
      throw new SourceFailure('source_unreachable', 'SharePoint does not show the folder of a file.');
    }
    return this.#accepts(path) ? item : null;
  }
}

function isNoFolder({ root, folder, package: pack }: DriveItem): boolean {
  return root == null && folder == null && pack == null;
}
