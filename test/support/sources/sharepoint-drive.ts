import { createHash } from 'node:crypto';

export interface FakeItem {
  id: string;
  name: string;
  /** Null: it is the root. */
  parent: FakeItem | null;
  /** Null: it is a folder. */
  content: Buffer | null;
  /** Place of its last change in the order of all changes. */
  changed: number;
  edits: number;
  /** Last change of its content. */
  modified: Date;
  created: Date;
  isDeleted: boolean;
  /** Facets and other members that are added to it, or replace it. */
  more: Record<string, unknown>;
}

let made = 0;

/** A document library, and what Microsoft Graph says of its items. */
export class FakeDrive {
  readonly id: string;
  readonly items: FakeItem[] = [];
  readonly root: FakeItem;
  name: string;
  changes = 0;

  constructor(name: string) {
    made += 1;
    this.id = `b!drive-${made}_`.padEnd(66, 'x');
    this.name = name;
    this.root = this.#add('root', null, null);
  }

  find(path: string): FakeItem | undefined {
    return this.items.find((item) => !item.isDeleted && item !== this.root && this.pathOf(item) === path);
  }

  pathOf(item: FakeItem): string {
    const above = item.parent;
    return above === null || above === this.root ? item.name : `${this.pathOf(above)}/${item.name}`;
  }

  /** The folder at a path; it is made where it is missing. */
  folder(path: string): FakeItem {
    if (path === '') return this.root;
    const end = path.lastIndexOf('/');
    return (
      this.find(path) ?? this.#add(path.slice(end + 1), this.folder(path.slice(0, Math.max(end, 0))), null)
    );
  }

  put(path: string, content: string | Uint8Array, more: Record<string, unknown> = {}): FakeItem {
    const known = this.find(path);
    const item =
      known ?? this.#add(path.slice(path.lastIndexOf('/') + 1), this.#above(path), Buffer.alloc(0));
    item.content = Buffer.from(content);
    item.more = more;
    item.modified = new Date();
    this.touch(item);
    return item;
  }

  /** A folder that is moved is listed without what is in it, as at the service. */
  move(from: string, to: string): void {
    const item = this.find(from);
    if (item === undefined) return;
    item.name = to.slice(to.lastIndexOf('/') + 1);
    item.parent = this.#above(to);
    this.touch(item);
  }

  /** A folder that is deleted is listed without what is in it. */
  remove(path: string): void {
    const item = this.find(path);
    if (item === undefined) return;
    for (const each of this.items) each.isDeleted ||= this.#isBelow(each, item);
    this.touch(item);
  }

  touch(item: FakeItem): void {
    this.changes += 1;
    item.changed = this.changes;
    item.edits += 1;
  }

  /**
   * Items that have changed after a place, in the order of their changes; deleted ones only where `after` is not the
   * beginning. The root is always there, and unless they are excluded all folders above a changed item, too.
   */
  changedSince(after: number, withParents: boolean): FakeItem[] {
    const found = this.items
      .filter((item) => item.changed > after && item !== this.root && (after > 0 || !item.isDeleted))
      .filter((item) => !item.isDeleted || item.parent?.isDeleted !== true)
      .sort((a, b) => a.changed - b.changed);
    const above = new Set<FakeItem>([this.root]);
    for (const item of withParents ? found : []) {
      for (let at = item.parent; at !== null; at = at.parent) if (!found.includes(at)) above.add(at);
    }
    return [...above, ...found];
  }

  /** All members; listings of changes lack the path, the tag of the content, and of deleted items the name. */
  shown(item: FakeItem, { inDelta }: { inDelta: boolean }): Record<string, unknown> {
    const { id, name, parent, content, edits, created, modified, isDeleted, more } = item;
    const hash = createHash('sha1').update(content ?? '');
    return {
      id,
      ...(!(inDelta && isDeleted) && { name }),
      eTag: `"{${id}},${edits}"`,
      ...(content !== null && !inDelta && { cTag: `"c:{${id}},${edits}"` }),
      size: content?.byteLength ?? 0,
      webUrl: `https://contoso.sharepoint.com/sites/team/${encodeURIComponent(name)}`,
      createdDateTime: created.toISOString(),
      lastModifiedDateTime: modified.toISOString(),
      ...(parent !== null && {
        parentReference: {
          driveType: 'documentLibrary',
          driveId: this.id,
          id: parent.id,
          ...(!inDelta && { path: `/drives/${this.id}/root:/${encodeURI(this.pathOf(parent))}` }),
        },
      }),
      ...(content === null
        ? { folder: { childCount: 1 } }
        : { file: { mimeType: 'text/markdown', hashes: { quickXorHash: hash.digest('base64') } } }),
      ...(parent === null && { root: {} }),
      ...(isDeleted && { deleted: { state: 'deleted' } }),
      '@microsoft.graph.downloadUrl':
        'https://contoso.sharepoint.com/_layouts/15/download.aspx?tempauth=secret',
      ...more,
    };
  }

  #above(path: string): FakeItem {
    return this.folder(path.slice(0, Math.max(path.lastIndexOf('/'), 0)));
  }

  #isBelow(item: FakeItem, folder: FakeItem): boolean {
    return item === folder || (item.parent !== null && this.#isBelow(item.parent, folder));
  }

  #add(name: string, parent: FakeItem | null, content: Buffer | null): FakeItem {
    made += 1;
    const item: FakeItem = {
      id: `01ITEM${made}`,
      name,
      parent,
      content,
      changed: 0,
      edits: 0,
      modified: new Date(),
      created: new Date(),
      isDeleted: false,
      more: {},
    };
    this.items.push(item);
    this.touch(item);
    return item;
  }
}
