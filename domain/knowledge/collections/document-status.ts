/**
 * `processing` until its workflow has extracted and chunked it, then `ready` or `failed`. A failed document may be
 * retried.
 */
export const documentStatuses = ['processing', 'ready', 'failed'] as const;
export type DocumentStatus = (typeof documentStatuses)[number];

/**
 * Formats that can be read. Binary formats are recognised by their content; what was declared decides among texts only.
 * `text/x-source-code` stands for every programming language.
 */
export const documentMediaTypes = [
  'text/plain',
  'text/markdown',
  'text/html',
  'text/csv',
  'text/tab-separated-values',
  'text/x-source-code',
  'application/json',
  'application/x-ndjson',
  'message/rfc822',
  'application/pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.oasis.opendocument.text',
  'application/vnd.oasis.opendocument.spreadsheet',
  'application/vnd.oasis.opendocument.presentation',
  'application/epub+zip',
] as const;
export type DocumentMediaType = (typeof documentMediaTypes)[number];

/**
 * Why a document is `failed`:
 * - `extraction_failed`: its content is gone, its reading crashed three times, or it was read by an earlier version
 * - `empty_document`: it contains no text
 * - `needs_ocr`: its pages are images without a text layer
 * - `encrypted`: a password is needed
 * - `unsupported_format`: its content is of a type that is not read, whatever was declared
 * - `malformed`: its content breaks its format
 * - `too_large`: reading it exceeds the limits of memory, of unpacked bytes, of entries or of text
 * - `too_slow`: reading it exceeds the limit of time
 */
export const documentFailureCodes = [
  'extraction_failed',
  'empty_document',
  'needs_ocr',
  'encrypted',
  'unsupported_format',
  'malformed',
  'too_large',
  'too_slow',
] as const;
export type DocumentFailureCode = (typeof documentFailureCodes)[number];

/** Why passages of a document stay without a vector: the model refuses them for their size, or answers unusably. */
export const embeddingFaults = ['too_large', 'malformed'] as const;
export type EmbeddingFault = (typeof embeddingFaults)[number];
