/** `processing` until its workflow has extracted and chunked it: `ready` or `failed`. A failed one may be retried. */
export const documentStatuses = ['processing', 'ready', 'failed'] as const;
export type DocumentStatus = (typeof documentStatuses)[number];

export const documentMediaTypes = ['text/plain', 'text/markdown', 'text/html'] as const;
export type DocumentMediaType = (typeof documentMediaTypes)[number];

/** Why a document is `failed`: nothing could be read from it, or it holds no text. */
export const documentFailureCodes = ['extraction_failed', 'empty_document'] as const;
export type DocumentFailureCode = (typeof documentFailureCodes)[number];
