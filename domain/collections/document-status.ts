/** `processing` until its workflow has extracted and chunked it. Terminal: `ready`, `failed`. */
export const documentStatuses = ['processing', 'ready', 'failed'] as const;
export type DocumentStatus = (typeof documentStatuses)[number];

export const documentMediaTypes = ['text/plain', 'text/markdown', 'text/html'] as const;
export type DocumentMediaType = (typeof documentMediaTypes)[number];
