/** Kinds of entries that are listed. */
export const fileKind = 0;
export const submoduleKind = 1;

/** The files of one commit, sorted by the bytes of their paths; in one piece of memory, so that it is cheap to keep. */
export interface FileListData {
  /** For each file: kind, id, path. */
  bytes: Uint8Array;
  /** Where each file begins, and the end. */
  offsets: Uint32Array;
  idBytes: number;
}

export interface ListedFile {
  path: string;
  kind: number;
  id: string;
}

export class FileList {
  readonly #bytes: Buffer;
  readonly #offsets: Uint32Array;
  readonly #idBytes: number;

  constructor({ bytes, offsets, idBytes }: FileListData) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#offsets = offsets;
    this.#idBytes = idBytes;
  }

  get count(): number {
    return this.#offsets.length - 1;
  }

  get byteLength(): number {
    return this.#bytes.byteLength + this.#offsets.byteLength;
  }

  file(index: number): ListedFile {
    const [at, end] = [this.#offsets[index] ?? 0, this.#offsets[index + 1] ?? 0];
    const pathAt = at + 1 + this.#idBytes;
    return {
      kind: this.#bytes[at] ?? fileKind,
      id: this.#bytes.toString('hex', at + 1, pathAt),
      path: this.#bytes.toString('utf8', pathAt, end),
    };
  }

  /** Negative: the file's path comes before `path`. */
  compare(index: number, path: Uint8Array): number {
    const [at, end] = [this.#offsets[index] ?? 0, this.#offsets[index + 1] ?? 0];
    return this.#bytes.compare(path, 0, path.byteLength, at + 1 + this.#idBytes, end);
  }

  pathBytes(index: number): Uint8Array {
    const [at, end] = [this.#offsets[index] ?? 0, this.#offsets[index + 1] ?? 0];
    return this.#bytes.subarray(at + 1 + this.#idBytes, end);
  }

  find(path: string): ListedFile | null {
    const bytes = Buffer.from(path);
    const index = this.#lowerBound(bytes);
    return index < this.count && this.compare(index, bytes) === 0 ? this.file(index) : null;
  }

  /** The index of the first file behind `path`; null: the first of all. */
  after(path: string | null): number {
    if (path === null) return 0;
    const bytes = Buffer.from(path);
    const index = this.#lowerBound(bytes);
    return index < this.count && this.compare(index, bytes) === 0 ? index + 1 : index;
  }

  #lowerBound(path: Uint8Array): number {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.compare(middle, path) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Sorts, keeps the first of equal paths, and packs. */
export function packFileList(files: readonly ListedFile[], idBytes: number): FileListData {
  const sorted = files
    .map(({ path, kind, id }) => ({ path: Buffer.from(path), kind, id }))
    .toSorted((a, b) => a.path.compare(b.path))
    .filter(({ path }, index, all) => index === 0 || !path.equals(all[index - 1]?.path ?? path));
  const offsets = new Uint32Array(sorted.length + 1);
  let length = 0;
  for (const [index, { path }] of sorted.entries()) {
    length += 1 + idBytes + path.byteLength;
    offsets[index + 1] = length;
  }
  const bytes = Buffer.alloc(length);
  for (const [index, { path, kind, id }] of sorted.entries()) {
    const at = offsets[index] ?? 0;
    bytes[at] = kind;
    bytes.write(id, at + 1, 'hex');
    path.copy(bytes, at + 1 + idBytes);
  }
  return { bytes, offsets, idBytes };
}
