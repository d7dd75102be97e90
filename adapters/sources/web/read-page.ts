import { decodeText } from '../../knowledge/formats/decode-text.ts';
import { discardBody, readBeginning } from '../shared/bounded-body.ts';
import { mediaTypeOf } from '../shared/http-version.ts';
import { scanPage } from './scan-page.ts';
import type { Site } from './site.ts';

/** Links after this length are not looked for. */
const maxPageBytes = 2 * 1_048_576;

export interface ReadPage {
  /** Null: not HTML, or longer than what is read for links. */
  content: Uint8Array | null;
  /** Addresses on the site. */
  links: readonly string[];
  /** The address that the page names as its own, where it is another one in the scope. */
  canonical: string | null;
}

/** The links of an answer, if it is a page of HTML; anything else is not read. */
export async function readPage(response: Response, address: string, site: Site): Promise<ReadPage> {
  const mediaType = mediaTypeOf(response);
  if (mediaType !== 'text/html' && mediaType !== 'application/xhtml+xml') {
    await discardBody(response);
    return { content: null, links: [], canonical: null };
  }
  const { content, isWhole } = await readBeginning(response, maxPageBytes);
  const { links, canonical, base } = scanPage(decode(content));
  const from = (base === null ? null : URL.parse(base, address)?.href) ?? address;
  const named = canonical === null ? null : site.resolve(canonical, from);
  return {
    content: isWhole ? content : null,
    links: [...new Set(links.map((href) => site.resolve(href, from)).filter((link) => link !== null))],
    canonical: named !== null && named !== address && site.accepts(named) ? named : null,
  };
}

function decode(content: Uint8Array): string {
  try {
    return decodeText(content);
  } catch {
    return '';
  }
}
