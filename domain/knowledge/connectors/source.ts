/** A document as a source lists it. */
export interface ListedDocument {
  /** Its identity at the source, stable while it is not moved: a path, an address, a row's key. At most 2,000 bytes. */
  ref: string;
  /** Shown as the document's file name; folders are kept. */
  name: string;
  /** Equal versions have equal content: an ETag, a blob's hash, a modification sequence. Null: unknown until it is fetched. */
  version: string | null;
  /** Bytes, where the listing tells. */
  byteSize: number | null;
  /** As the source declares it; the content decides. */
  mediaType: string | null;
  /** Where people open it; shown in citations. */
  url: string | null;
  /** The content, where the listing brings it anyway; `fetch` is not called for it. */
  content?: Uint8Array;
  /** Who may read it at the source; omitted: the source has no such rights, and stored ones stay as they are. */
  readers?: SourceReaders;
}

/** Who may read a document at its source: everybody, or these addresses (A to Z in lower case) and groups. */
export type SourceReaders =
  | 'public'
  | {
      addresses: readonly string[];
      groups: readonly string[];
      /** Everybody with an address of exactly such a domain; omitted: none. */
      domains?: readonly string[];
    };

export interface SourcePage {
  documents: readonly ListedDocument[];
  /** References that the source itself says to be deleted or moved away. */
  gone: readonly string[];
  /**
   * What is one level below a reference of `gone`, separated by a slash, is gone with it: attachments of a message, of
   * which the source says no more than that the message is deleted.
   */
  goneWithParts?: true;
  /**
   * Where the listing is of one moment, so that changes since its beginning are those of the next run: of a first page,
   * the cursor with which it is listed once more as it is, with or without `gone`. A first page that is listed from the
   * beginning again would be of a later moment, and what was stored of the former alone would stay. On each page of
   * changes it also says that a document without a version is fetched once in the listing.
   */
  at?: string;
  /** Where the next page begins; null: this was the last one. Equal cursors in a row end the listing as truncated. */
  next: string | null;
  /** With the last page: what the next run begins with to list changes only. Null: it lists everything again. */
  checkpoint: string | null;
  /** Documents of the whole listing, where the source tells. */
  total: number | null;
  /**
   * Whether the listing is of everything at the source, so that what it does not contain is deleted there, or of
   * changes since the checkpoint. The same for each page of one listing.
   */
  scope: 'everything' | 'changes';
  /**
   * What says who may read the documents is not there. The run fails where documents have readers: otherwise everybody
   * would read what is new.
   */
  lacksReaders?: boolean;
  /**
   * Roots of the scope that cannot be read while others can: their documents stay, the run goes on, names them in its
   * errors and ends as `completed_with_errors`. Where none can be read, the listing fails. `ref` is the root's name in
   * the scope.
   */
  failures?: readonly { ref: string; code: SourceFailureCode; message: string }[];
  /** A limit of the scope or of the provider cut the listing: nothing counts as deleted. */
  truncated?: boolean;
}

export interface ListInput {
  /** `next` of the page before; null: the first page. */
  cursor: string | null;
  /** Of the last complete run; null: list everything. */
  checkpoint: string | null;
}

export interface FetchInput {
  ref: string;
  /** Of the stored copy: a source that can, answers `unchanged`. */
  version: string | null;
  /** As listed. */
  mediaType: string | null;
  /** A longer content is not read to its end: `skipped` with `too_large`. */
  maxBytes: number;
}

export type Fetched =
  | {
      kind: 'content';
      content: Uint8Array;
      mediaType: string | null;
      /** Of this content; null: the listed one. */
      version: string | null;
    }
  | { kind: 'unchanged' }
  | { kind: 'gone' }
  /** Not a document, or more than `maxBytes`: recorded with its reason, and no failure. */
  | { kind: 'skipped'; code: SkipCode };

/** What is forbidden is tried again by each listing, everything else when its version is another one. */
export type SkipCode = 'too_large' | 'unsupported_format' | 'not_a_document' | 'forbidden_by_source';

/** A group of the source and the addresses (A to Z in lower case) of its members. */
export interface SourceGroup {
  id: string;
  members: readonly string[];
}

export interface WatchInput {
  /** Documents that are known: a source that reports changes of single documents is asked for these, as far as it allows. */
  refs: readonly string[];
  /** Waits until so many requests may be sent to the source's host; those of the connection itself are counted. */
  pace: (count: number) => Promise<void>;
  /**
   * Called when the subscription is established: changes are reported from then on.
   * @param usesRefs whether it would be another one with other `refs`
   */
  onSubscribed: (usesRefs: boolean) => void;
  /** Called for each change that the source reports, at whatever rate that is; says nothing of what has changed. */
  onChange: () => void;
}

/** Why a watch ended: the source reports no changes, or it ended the subscription. */
export type WatchEnd = 'unsupported' | 'closed';

/** An opened source: of one connector, for one slice of work. Every method throws `SourceFailure` and nothing else. */
export interface Source {
  /** Whether address, credential and scope work, in a few requests. */
  check(signal: AbortSignal): Promise<void>;
  /** The first page of a listing shows all that `check` does: a run begins with it. */
  readonly isCheckedByListing?: true;
  /** One page, of up to about a thousand documents, fewer where they bring their content. */
  list(input: ListInput, signal: AbortSignal): Promise<SourcePage>;
  fetch(input: FetchInput, signal: AbortSignal): Promise<Fetched>;
  /**
   * Documents that are fetched next, while those of the call before are fetched: a source that can read several with
   * one request does so, within bounds of its own, and keeps them until they are fetched, at most until the next call
   * but one. What it has not, `fetch` reads.
   * @returns how many documents need no request of their own any more
   */
  prepare?(refs: readonly string[], signal: AbortSignal): Promise<number>;
  /** Asked once more before a document that the listing lacks is deleted. */
  exists(ref: string, signal: AbortSignal): Promise<boolean>;
  /** The members of its groups, page by page; omitted: it names addresses only. */
  groups?(
    cursor: string | null,
    signal: AbortSignal,
  ): Promise<{ groups: SourceGroup[]; next: string | null }>;
  /**
   * Subscribes to changes until the source ends the subscription; omitted: it reports none.
   * @throws SourceFailure, and the signal's reason
   */
  watch?(input: WatchInput, signal: AbortSignal): Promise<WatchEnd>;
  /** Ends connections. */
  close?(): Promise<void>;
}

export const sourceFailureCodes = [
  'auth_failed',
  'scope_invalid',
  'source_unreachable',
  'rate_limited',
  'cursor_expired',
  'quota_exceeded',
  'source_invalid',
] as const;

/**
 * Why a source could not be read:
 * - `auth_failed`: it refuses the credential; a person must renew it
 * - `scope_invalid`: what the scope names does not exist there, or may not be reached from here
 * - `source_unreachable`: no answer, a broken one, or an error of the server: tried again
 * - `rate_limited`: it asks for a pause
 * - `cursor_expired`: the listing has to begin again
 * - `quota_exceeded`: it refuses until its owner raises a limit
 * - `source_invalid`: its answers break their protocol, or exceed a limit of bytes
 */
export type SourceFailureCode = (typeof sourceFailureCodes)[number];

export class SourceFailure extends Error {
  readonly code: SourceFailureCode;
  /** With `rate_limited`, where the source says it. */
  readonly retryAfterMs: number | null;

  /** @param message one sentence of our own for administrators; holds no secret and no text from the source */
  constructor(
    code: SourceFailureCode,
    message: string,
    options: { retryAfterMs?: number | null; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'SourceFailure';
    this.code = code;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}
