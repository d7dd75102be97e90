import { decodeEntities } from '../../knowledge/formats/xml-reader.ts';

export interface PageLinks {
  /** As written, relative to `base` or to the page. */
  links: string[];
  canonical: string | null;
  base: string | null;
}

const maxLinks = 5_000;
const raw = new Set(['script', 'style', 'textarea', 'title', 'xmp', 'iframe', 'noembed', 'noframes']);
const wanted = new Set(['a', 'area', 'link', 'base']);
const isSpace = (code: number): boolean => code === 0x20 || (code >= 0x09 && code <= 0x0d);

/** The links of a page, read once from its beginning to its end. */
export function scanPage(html: string): PageLinks {
  const found: PageLinks = { links: [], canonical: null, base: null };
  for (let at = html.indexOf('<'); at !== -1; at = html.indexOf('<', at)) {
    if (html.startsWith('<!--', at)) {
      const end = html.indexOf('-->', at + 4);
      if (end === -1) break;
      at = end + 3;
      continue;
    }
    const nameEnd = endOfName(html, at + 1);
    const name = html.slice(at + 1, nameEnd).toLowerCase();
    if (name === '') {
      at += 1;
      continue;
    }
    const { attributes, end } = readAttributes(html, nameEnd, wanted.has(name));
    at = raw.has(name) ? endOfRaw(html, end, name) : end;
    if (attributes !== null) {
      collect(found, name, attributes);
    }
  }
  return found;
}

function collect(found: PageLinks, name: string, attributes: ReadonlyMap<string, string>): void {
  const href = attributes.get('href')?.trim();
  if (href === undefined || href === '') {
    return;
  }
  if (name === 'base') {
    found.base ??= href;
  } else if (name === 'link') {
    const relations = (attributes.get('rel') ?? '').toLowerCase().split(/\s/);
    found.canonical ??= relations.includes('canonical') ? href : null;
  } else if (found.links.length < maxLinks) {
    found.links.push(href);
  }
}

/** Of a tag that opens; anything else has none. */
function endOfName(html: string, from: number): number {
  let at = from;
  const isLetter = (code: number) => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
  if (!isLetter(html.charCodeAt(at))) {
    return at;
  }
  while (at < html.length && !isSpace(html.charCodeAt(at)) && html[at] !== '>' && html[at] !== '/') {
    at += 1;
  }
  return at;
}

function readAttributes(
  html: string,
  from: number,
  kept: boolean,
): { attributes: Map<string, string> | null; end: number } {
  const attributes = kept ? new Map<string, string>() : null;
  let at = from;
  const skip = (isPart: (code: number) => boolean) => {
    const start = at;
    while (at < html.length && isPart(html.charCodeAt(at))) at += 1;
    return start;
  };
  for (;;) {
    skip((code) => isSpace(code) || code === 0x2f);
    if (at >= html.length) return { attributes: null, end: at };
    if (html[at] === '>') return { attributes, end: at + 1 };
    const start = at;
    at += 1;
    skip((code) => !isSpace(code) && code !== 0x2f && code !== 0x3e && code !== 0x3d);
    const name = html.slice(start, at).toLowerCase();
    skip(isSpace);
    let value = '';
    if (html[at] === '=') {
      at += 1;
      skip(isSpace);
      const quote = html[at];
      if (quote === '"' || quote === "'") {
        const end = html.indexOf(quote, at + 1);
        if (end === -1) return { attributes: null, end: html.length };
        value = html.slice(at + 1, end);
        at = end + 1;
      } else {
        const begin = skip((code) => !isSpace(code) && code !== 0x3e);
        value = html.slice(begin, at);
      }
    }
    if (attributes !== null && !attributes.has(name)) attributes.set(name, decodeEntities(value));
  }
}

function endOfRaw(html: string, from: number, name: string): number {
  for (let at = html.indexOf('</', from); at !== -1; at = html.indexOf('</', at + 2)) {
    if (html.slice(at + 2, at + 2 + name.length).toLowerCase() === name) return at + 2;
  }
  return html.length;
}
