/** The purpose of stored bytes; the first part of their keys. */
export type BytePurpose = 'documents';

export interface StoredBytes {
  /** `<purpose>/<id>`, valid only in the tenant of the store. */
  key: string;
  byteSize: number;
  /** In hex. */
  sha256: string;
}

/** Bytes that are stored whole, and that nothing can open before they are finished. */
export type ReceivedBytes = StoredBytes;

export interface PutOptions {
  purpose: BytePurpose;
  maxBytes: number;
}

/** The port to content that is too large for a row: the bytes of one tenant. */
export interface ByteStore {
  /**
   * Stores a stream without buffering it whole. Equal bytes of one purpose get the same key.
   * @throws `TooManyBytes`, `BytesNotFound` when the bytes are deleted meanwhile, and any error of the stream; in each
   * case nothing stays stored
   */
  put(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, options: PutOptions): Promise<StoredBytes>;
  /** @throws `BytesNotFound`, also in mid-stream when the bytes are deleted meanwhile */
  open(key: string): AsyncIterable<Uint8Array>;
  /** Deleting an unknown key is no error. */
  delete(key: string): Promise<void>;
  /** Keys that begin with `prefix`, in order, after `after`. */
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
