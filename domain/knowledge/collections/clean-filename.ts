import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { collectionLimits } from './collection-limits.ts';

/** Control characters, and those that change the direction of the text after them or have no width. */
// eslint-disable-next-line no-control-regex
const hidden = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/**
 * The name with its folders, in whichever system's notation they are given, without characters that a reader does not
 * see and without steps that lead out of a folder.
 * @throws `invalid_request` when no name is left, or when it is too long
 */
export function cleanFilename(given: string): string {
  const name = cleanText(given)
    .split(/[/\\]/)
    .map((step) => step.replaceAll(hidden, '').trim())
    .filter((step) => step !== '' && step !== '.' && step !== '..')
    .join('/');
  if (name === '' || name.length > collectionLimits.filename) {
    throw invalid('filename', `filename must be a name of 1 to ${collectionLimits.filename} characters.`);
  }
  return name;
}
