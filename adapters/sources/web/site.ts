import { pathFilter, type PathFilter, type PathPatterns } from '../shared/path-filter.ts';

/** References are addresses. */
const maxAddressBytes = 2_000;

/** Which addresses belong to the source: on the origins of the start addresses, chosen by the patterns of the scope. */
export class Site {
  readonly startAddresses: readonly string[];
  readonly #origins: ReadonlySet<string>;
  readonly #filter: PathFilter;

  constructor(startUrls: readonly string[], patterns: PathPatterns) {
    this.#origins = new Set(startUrls.map((url) => new URL(url).origin));
    this.startAddresses = [...new Set(startUrls.map((url) => this.resolve(url, url) ?? url))];
    this.#filter = pathFilter(patterns);
  }

  /** The address in its normal form, without a fragment; null where it is not on the site. */
  resolve(href: string, base: string): string | null {
    const url = URL.parse(href, base);
    if (url === null || url.username !== '' || url.password !== '') {
      return null;
    }
    url.hash = '';
    if (!this.#origins.has(url.origin) && url.protocol === 'http:') {
      url.protocol = 'https:';
    }
    const isShort = Buffer.byteLength(url.href) <= maxAddressBytes;
    return this.#origins.has(url.origin) && isShort ? url.href : null;
  }

  /** Whether the scope takes the page; an address of `resolve`. */
  accepts(address: string): boolean {
    return this.#filter.accepts(readable(new URL(address).pathname));
  }
}

/** Of an address, for people: its path and query. */
export function nameOf(address: string): string {
  const { pathname, search } = new URL(address);
  const path = readable(pathname).slice(1);
  return `${path}${path === '' || path.endsWith('/') ? 'index.html' : ''}${readable(search)}`;
}

/** Control characters are replaced. */
function readable(encoded: string): string {
  return encoded
    .split('/')
    .map(decodePart)
    .join('/')
    .replaceAll(/\p{Cc}/gu, '\uFFFD');
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
