import { cleanFilename } from '#domain/knowledge/collections/clean-filename.ts';
import { collectionLimits } from '#domain/knowledge/collections/collection-limits.ts';

/** A name from a source as a document's file name; the end of a name that is too long says more than its beginning. */
export function sourceFilename(name: string): string {
  const end = name.toWellFormed().slice(-collectionLimits.filename).toWellFormed();
  try {
    return cleanFilename(end);
  } catch {
    return 'document';
  }
}
