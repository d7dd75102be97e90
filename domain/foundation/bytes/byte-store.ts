/** What the bytes of a store are for; the first part of their keys. */
export type BytePurpose = 'documents';

export interface StoredBytes {
  /** `<purpose>/<id>`, good in the tenant of the store only. */
  key: string;
  byteSize: number;
  /** In hex. */
  sha256: string;
}

export interface PutOptions {
  purpose: BytePurpose;
  maxBytes: number;
}

/** The port to content that is too large for a row: the bytes of one tenant. */
export interface ByteStore {
  /**
   * Stores a stream without holding it whole. Equal bytes of one purpose get the same key.
   * @throws `TooManyBytes`, what the stream throws; nothing is left then
   */
  put(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, options: PutOptions): Promise<StoredBytes>;
  /** @throws `BytesNotFound`, also in the middle when they are deleted meanwhile */
  open(key: string): AsyncIterable<Uint8Array>;
  /** Deleting what is not there is no error. */
  delete(key: string): Promise<void>;
  /** Keys that begin with `prefix`, in their order, behind `after`. */
  list(prefix: string, page: { after: string; limit: number }): Promise<string[]>;
}

export class TooManyBytes extends Error {
  constructor(maxBytes: number) {
    super(`The content has more than ${maxBytes} bytes.`);
    this.name = 'TooManyBytes';
  }
}

export class BytesNotFound extends Error {
  constructor() {
    super('The content is not stored.');
    this.name = 'BytesNotFound';
  }
}
