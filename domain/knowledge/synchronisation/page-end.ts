import type { SyncError } from '#domain/knowledge/connectors/sync-status.ts';

/** The end of a page, with its last batch. */
export interface PageEnd {
  /** Of a page that supersedes: without what the same page lists. */
  gone: readonly string[];
  /** Documents one level below those of `gone` are gone with them. */
  goneWithParts: boolean;
  next: string | null;
  checkpoint: string | null;
  total: number | null;
  listsChanges: boolean;
  /**
   * What the page says counts, whatever the same listing has brought before: of changes, which follow each other, and of
   * a first page, which is of a later moment when it is listed once more.
   */
  supersedes: boolean;
  isTruncated: boolean;
  /** Of roots; see `SourcePage`. */
  failures: readonly SyncError[];
}
