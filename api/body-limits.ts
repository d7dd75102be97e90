/** Bytes of a request body, of every operation that declares no other limit. */
export const bodyLimit = 1024 * 1024;

/** Bytes of a request body that carries content: a response's input, a document. */
export const contentBodyLimit = 4 * 1024 * 1024;
