/**
 * `processing` until its workflow has extracted and chunked it, then `ready` or `failed`. A failed document may be
 * retried.
 */
export const documentStatuses = ['processing', 'ready', 'failed'] as const;
export type DocumentStatus = (typeof documentStatuses)[number];

export const documentMediaTypes = ['text/plain', 'text/markdown', 'text/html'] as const;
export type DocumentMediaType = (typeof documentMediaTypes)[number];

/** Why a document is `failed`: it is unreadable, or contains no text. */
export const documentFailureCodes = ['extraction_failed', 'empty_document'] as const;
export type DocumentFailureCode = (typeof documentFailureCodes)[number];
