import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { documentMediaTypes, type DocumentMediaType } from './document-status.ts';

/** Lengths in UTF-16 units, content in UTF-8 bytes. */
export const collectionLimits = {
  name: 200,
  description: 2_000,
  filename: 255,
  /** Content inside of a JSON body. */
  contentBytes: 1_048_576,
  /** Content that is sent as a file. */
  fileBytes: 104_857_600,
  /** Max unread documents of a tenant. */
  processing: 500,
} as const;

export type ContentLimits = Readonly<Record<DocumentMediaType, number>>;

/** Max bytes of a document's content, by its type; a gateway may have lower limits. */
export const contentLimits = Object.fromEntries(
  documentMediaTypes.map((mediaType) => [mediaType, collectionLimits.fileBytes]),
) as Record<DocumentMediaType, number>;

/** @throws `invalid_request` naming `param` when the text is blank or longer than `max`. */
export function requireText(param: string, text: string, max: number): string {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > max) {
    throw invalid(param, `${param} must have 1 to ${max} characters.`);
  }
  return trimmed;
}

/** @returns null for a blank one. @throws `invalid_request` when it is too long */
export function requireDescription(text: string | null): string | null {
  const description = cleanText(text ?? '').trim();
  if (description.length > collectionLimits.description) {
    throw invalid('description', `description must have at most ${collectionLimits.description} characters.`);
  }
  return description === '' ? null : description;
}
