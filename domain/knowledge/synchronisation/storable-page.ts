import { createHash } from 'node:crypto';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { SourceFailure, type ListedDocument, type SourcePage } from '#domain/knowledge/connectors/source.ts';
import { isStorable, storableReaders } from './storable-readers.ts';

const maxRefBytes = 2_000;

export interface StorableDocument extends ListedDocument {
  /** The reference at the source cannot be stored, and `ref` is a digest of it: the document is left out. */
  isDigest?: true;
}

export interface StorablePage extends SourcePage {
  documents: readonly StorableDocument[];
  failures: NonNullable<SourcePage['failures']>;
}

/**
 * A page of a source as the database can store it: with no NUL, no half of a surrogate pair and no reference that is
 * too long, so that the fault of one document is not that of its batch. @throws SourceFailure for a cursor with such
 */
export function storablePage(page: SourcePage): StorablePage {
  const cursors = [page.next, page.checkpoint, page.at ?? null];
  if (!cursors.every((cursor) => cursor === null || isStorable(cursor))) {
    throw new SourceFailure('source_invalid', 'The source names a place in its listing that is no text.');
  }
  return {
    ...page,
    documents: page.documents.map(storable),
    gone: page.gone.map(storableRef),
    failures: (page.failures ?? []).map((each) => ({ ...each, ref: cleanText(each.ref) })),
  };
}

function storable(listed: ListedDocument): StorableDocument {
  const { name, url, version, readers } = listed;
  const ref = storableRef(listed.ref);
  return {
    ...listed,
    ref,
    name: cleanText(name),
    url: url !== null && isStorable(url) ? url : null,
    version: storableVersion(version),
    ...(readers !== undefined && { readers: storableReaders(readers) }),
    ...(ref !== listed.ref && { isDigest: true }),
  };
}

/** Versions are compared, so that what cannot be stored counts as unknown. */
export function storableVersion(version: string | null): string | null {
  return version !== null && isStorable(version) ? version : null;
}

function storableRef(ref: string): string {
  if (isStorable(ref) && ref !== '' && Buffer.byteLength(ref) <= maxRefBytes) {
    return ref;
  }
  // In UTF-8 all halves of surrogate pairs are the same.
  const bytes = Buffer.from(ref, ref.isWellFormed() ? 'utf8' : 'utf16le');
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
