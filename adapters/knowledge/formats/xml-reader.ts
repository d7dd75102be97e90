import { ExtractionFailure } from '#domain/knowledge/ingestion/document-extractor.ts';
import { openAfter } from './implied-ends.ts';

const maxDepth = 512;

export type XmlAttributes = ReadonlyMap<string, string>;

/** Names come without their prefix, those of HTML in lower case. */
export interface XmlHandler {
  open(name: string, attributes: () => XmlAttributes): void;
  close(name: string): void;
  text(text: string): void;
}

const voids = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '));
const raw = new Set(['script', 'style', 'textarea', 'title', 'xmp', 'iframe', 'noembed', 'noframes']);
const named = new Map([
  ...Object.entries({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', copy: '©', reg: '®' }),
  ...Object.entries({ ndash: '–', mdash: '—', hellip: '…', lsquo: '‘', rsquo: '’', ldquo: '“', rdquo: '”' }),
  ...Object.entries({ auml: 'ä', ouml: 'ö', uuml: 'ü', Auml: 'Ä', Ouml: 'Ö', Uuml: 'Ü', szlig: 'ß' }),
  ...Object.entries({ eacute: 'é', egrave: 'è', agrave: 'à', ccedil: 'ç', euro: '€', shy: '', bull: '•' }),
]);

/**
 * Reads XML, or HTML, once from its beginning to its end, in time that grows with its length. Declarations, and so
 * entities that they define, are ignored. In HTML, closing tags may be missing, and what is nested too deeply is read as
 * if it were empty elements and text.
 * @throws `ExtractionFailure` malformed for XML that ends too early, or is nested too deeply
 */
export function readXml(xml: string, handler: XmlHandler, html = false): void {
  const open: string[] = [];
  let at = 0;
  const closeDownTo = (depth: number) => {
    while (open.length > depth) handler.close(open.pop() ?? '');
  };
  while (at < xml.length) {
    const less = xml.indexOf('<', at);
    const end = less === -1 ? xml.length : less;
    if (end > at) handler.text(decodeEntities(xml.slice(at, end)));
    if (less === -1) break;
    const special = specialEnd(xml, less);
    if (special !== null) {
      if (special.text !== '') handler.text(special.text);
      at = special.end;
      continue;
    }
    if (html && !isNameStart(xml.charCodeAt(less + 1)) && xml[less + 1] !== '/') {
      handler.text('<');
      at = less + 1;
      continue;
    }
    const greater = tagEnd(xml, less + 1);
    if (greater === -1) {
      if (html) break;
      throw new ExtractionFailure('malformed');
    }
    at = greater + 1;
    if (xml[less + 1] === '/') {
      const depth = open.lastIndexOf(localName(xml.slice(less + 2, greater).trim(), html));
      if (depth !== -1) closeDownTo(depth);
      continue;
    }
    const empty = xml[greater - 1] === '/';
    const tag = xml.slice(less + 1, empty ? greater - 1 : greater);
    const nameEnd = tag.search(/\s/);
    const name = localName(nameEnd === -1 ? tag : tag.slice(0, nameEnd), html);
    if (html) closeDownTo(openAfter(open, name));
    handler.open(name, () => (nameEnd === -1 ? new Map() : readAttributes(tag, nameEnd)));
    if (empty || (html && voids.has(name))) {
      handler.close(name);
    } else if (html && raw.has(name)) {
      const stop = rawEnd(xml, at, name);
      handler.text(decodeEntities(xml.slice(at, stop)));
      handler.close(name);
      at = stop;
    } else if (open.length < maxDepth) {
      open.push(name);
    } else if (html) {
      handler.close(name);
    } else {
      throw new ExtractionFailure('malformed');
    }
  }
  if (open.length > 0 && !html) throw new ExtractionFailure('malformed');
  closeDownTo(0);
}

/** Comments, declarations and instructions, which have no text, and CDATA, which has. */
function specialEnd(xml: string, at: number): { end: number; text: string } | null {
  const after = (closing: string, from: number) => {
    const end = xml.indexOf(closing, from);
    return end === -1 ? xml.length : end + closing.length;
  };
  if (xml.startsWith('<!--', at)) return { end: after('-->', at + 4), text: '' };
  if (xml.startsWith('<![CDATA[', at)) {
    const end = after(']]>', at + 9);
    return { end, text: xml.slice(at + 9, Math.max(at + 9, end - 3)) };
  }
  if (xml.startsWith('<?', at)) return { end: after('>', at + 2), text: '' };
  if (!xml.startsWith('<!', at)) return null;
  const end = after('>', at);
  const subset = xml.slice(at, end).indexOf('[');
  return { end: subset === -1 ? end : after(']>', at + subset), text: '' };
}

/** The `>` that ends a tag: those in quoted values do not. */
function tagEnd(xml: string, from: number): number {
  let quote = 0;
  for (let at = from; at < xml.length; at += 1) {
    const code = xml.charCodeAt(at);
    if (quote !== 0) {
      if (code === quote) quote = 0;
    } else if (code === 0x3e) {
      return at;
    } else if ((code === 0x22 || code === 0x27) && xml.charCodeAt(at - 1) === 0x3d) {
      quote = code;
    }
  }
  return -1;
}

function rawEnd(html: string, from: number, name: string): number {
  for (let at = html.indexOf('</', from); at !== -1; at = html.indexOf('</', at + 2)) {
    if (html.slice(at + 2, at + 2 + name.length).toLowerCase() === name) return at;
  }
  return html.length;
}

const isNameStart = (code: number): boolean =>
  ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a) || code === 0x5f || code > 0x7f;

function localName(name: string, html: boolean): string {
  const local = name.slice(name.indexOf(':') + 1);
  return html ? local.toLowerCase() : local;
}

function readAttributes(tag: string, from: number): XmlAttributes {
  const attributes = new Map<string, string>();
  let at = from;
  for (;;) {
    const equals = tag.indexOf('=', at);
    if (equals === -1) return attributes;
    const name = tag.slice(at, equals).trim();
    const rest = tag.slice(equals + 1, equals + 64).search(/\S/);
    const quoteAt = equals + 1 + Math.max(rest, 0);
    const quote = tag[quoteAt];
    if (quote !== '"' && quote !== "'") {
      at = equals + 1;
      continue;
    }
    const end = tag.indexOf(quote, quoteAt + 1);
    if (end === -1) return attributes;
    // The part before the colon is the prefix of a namespace; the first attribute of a local name counts.
    const local = name.slice(name.indexOf(':') + 1);
    if (!attributes.has(local)) attributes.set(local, decodeEntities(tag.slice(quoteAt + 1, end)));
    if (name !== local) attributes.set(name, decodeEntities(tag.slice(quoteAt + 1, end)));
    at = end + 1;
  }
}

export function decodeEntities(text: string): string {
  if (!text.includes('&')) {
    return text;
  }
  return text.replace(/&(#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z]{1,8});/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return named.get(name) ?? whole;
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code <= 0x10_ff_ff && code > 0 ? String.fromCodePoint(code) : '\uFFFD';
  });
}
