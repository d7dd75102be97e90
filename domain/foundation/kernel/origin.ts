/** Schemes of protocols other than HTTP to which credentials may be bound. */
const plainSchemes = new Set(['imap:', 'imaps:', 'postgres:']);

/**
 * Scheme, host and port of an address; `URL.origin` has none for schemes that the standard does not know. Null for
 * anything else.
 */
export function originOf(address: string): string | null {
  const url = URL.parse(address);
  if (url === null || url.host === '') {
    return null;
  }
  if (url.protocol === 'https:' || url.protocol === 'http:') {
    return url.origin;
  }
  return plainSchemes.has(url.protocol) ? `${url.protocol}//${url.host}` : null;
}
