import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { decodeEntities } from '../../knowledge/formats/xml-reader.ts';

/** By the protocol of sitemaps. */
const maxBytes = 50 * 1_048_576;
const maxLocations = 50_000;
const maxLocationLength = 8_192;

export interface Sitemap {
  isIndex: boolean;
  locations: string[];
  /** It has more than was read. */
  truncated: boolean;
}

/**
 * Reads the addresses of a sitemap or of an index of sitemaps, plain or compressed, while it arrives.
 * @returns null: it is neither
 */
export async function scanSitemap(body: ReadableStream<Uint8Array>): Promise<Sitemap | null> {
  const scan = new LocationScan();
  const decoder = new TextDecoder();
  let length = 0;
  try {
    for await (const part of await inflated(body)) {
      length += part.byteLength;
      scan.push(decoder.decode(part, { stream: true }));
      if (length > maxBytes || scan.locations.length > maxLocations) {
        scan.truncated = true;
        break;
      }
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw code.startsWith('Z_')
      ? new SourceFailure('source_invalid', 'A sitemap is not compressed as it should be.', { cause: error })
      : error;
  }
  const { isIndex, truncated } = scan;
  return isIndex === null ? null : { isIndex, truncated, locations: scan.locations.slice(0, maxLocations) };
}

/** The first bytes say whether the file itself is compressed. */
async function inflated(body: ReadableStream<Uint8Array>): Promise<ReadableStream<Uint8Array>> {
  const reader = body.getReader();
  let head: Uint8Array = new Uint8Array();
  while (head.length < 2) {
    const { value } = await reader.read();
    if (value === undefined) break;
    head = Buffer.concat([head, value]);
  }
  const whole = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => controller.enqueue(new Uint8Array(head)),
    pull: async (controller) => {
      const { value } = await reader.read();
      if (value === undefined) controller.close();
      else controller.enqueue(new Uint8Array(value));
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return head[0] === 0x1f && head[1] === 0x8b ? whole.pipeThrough(new DecompressionStream('gzip')) : whole;
}

/** Of a text that arrives in parts; what may be the beginning of an address waits for the next one. */
class LocationScan {
  isIndex: boolean | null = null;
  truncated = false;
  readonly locations: string[] = [];
  #text = '';

  push(part: string): void {
    const text = this.#text + part;
    if (this.isIndex === null) {
      const [index, urls] = [text.indexOf('<sitemapindex'), text.indexOf('<urlset')];
      this.isIndex = index === -1 && urls === -1 ? null : index !== -1 && (urls === -1 || index < urls);
    }
    let [at, close] = [0, 0];
    for (;;) {
      const open = text.indexOf('<loc', at);
      if (open === -1) {
        // The beginning of a tag, of a location or of the root.
        this.#text = text.slice(Math.max(at, text.length - 16));
        return;
      }
      if (close !== -1 && close < open) close = text.indexOf('</loc', open);
      if (close === -1 && text.length - open <= maxLocationLength) {
        this.#text = text.slice(open);
        return;
      }
      if (close !== -1 && close - open <= maxLocationLength) {
        this.#add(text.slice(open, close));
        at = close + 5;
      } else {
        at = open + 4;
      }
    }
  }

  #add(element: string): void {
    const greater = element.indexOf('>');
    const name = element.slice(1, greater).trim();
    if (greater === -1 || name.split(/\s/, 1)[0] !== 'loc') {
      return;
    }
    const raw = element.slice(greater + 1).trim();
    const isData = raw.startsWith('<![CDATA[') && raw.endsWith(']]>');
    const location = isData ? raw.slice(9, -3).trim() : decodeEntities(raw);
    if (location !== '') this.locations.push(location);
  }
}
