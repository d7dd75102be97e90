import { invalid } from '#domain/foundation/kernel/errors.ts';
import { documentMediaTypes, type DocumentMediaType } from './document-status.ts';

/** Lengths in UTF-16 units, content in UTF-8 bytes. */
export const collectionLimits = {
  name: 200,
  description: 2_000,
  filename: 255,
  contentBytes: 1_048_576,
  /** Max unread documents of a tenant. */
  processing: 500,
} as const;

export type ContentLimits = Readonly<Record<DocumentMediaType, number>>;

/** Max bytes of a document's content, by its type; a gateway may have lower limits. */
export const contentLimits = Object.fromEntries(
  documentMediaTypes.map((mediaType) => [mediaType, collectionLimits.contentBytes]),
) as ContentLimits;

/** @throws `invalid_request` naming `param` when the text is blank or longer than `max`. */
export function requireText(param: string, text: string, max: number): string {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > max) {
    throw invalid(param, `${param} must have 1 to ${max} characters.`);
  }
  return trimmed;
}
