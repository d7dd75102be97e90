import { ExtractionFailure, type ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import type { Archive } from './archive.ts';
import { addParagraphs } from './headed-text.ts';
import { htmlParagraphs } from './html-paragraphs.ts';
import { resolvePart } from './package-parts.ts';
import { TextBuilder } from './text-builder.ts';
import { readXml } from './xml-reader.ts';

/** Algorithms that only obfuscate fonts. */
const fontAlgorithms = ['http://www.idpf.org/2008/embedding', 'http://ns.adobe.com/pdf/enc#RC'];

interface Item {
  href: string;
  type: string;
  properties: string;
}

/** Chapters in the order of reading, named by the table of contents. @throws `ExtractionFailure` encrypted */
export async function readEpub(archive: Archive): Promise<ExtractedText> {
  rejectEncrypted(await archive.text('META-INF/encryption.xml'));
  const root = await rootFile(archive);
  const folder = root.slice(0, root.lastIndexOf('/') + 1);
  const { items, spine } = readPackage(await archive.text(root), folder);
  const contents = [...items.values()].filter(
    ({ type, properties }) => properties.split(' ').includes('nav') || type === 'application/x-dtbncx+xml',
  );
  const titles = new Map<string, string>();
  for (const { href } of contents) {
    addTitles(titles, await archive.text(href), href.slice(0, href.lastIndexOf('/') + 1));
  }
  const builder = new TextBuilder();
  for (const [index, id] of spine.entries()) {
    const href = items.get(id)?.href ?? '';
    const paragraphs = htmlParagraphs(await archive.text(href));
    const heading = paragraphs.find(({ level, text }) => level > 0 && text !== '')?.text;
    addParagraphs(builder, paragraphs, `chapter ${titles.get(href) ?? heading ?? index + 1}`);
  }
  return builder.build();
}

function rejectEncrypted(encryption: string): void {
  readXml(encryption, {
    open: (name, attributes) => {
      const algorithm = name === 'EncryptionMethod' ? attributes().get('Algorithm') : undefined;
      if (algorithm !== undefined && !fontAlgorithms.includes(algorithm)) {
        throw new ExtractionFailure('encrypted');
      }
    },
    close: () => {},
    text: () => {},
  });
}

async function rootFile(archive: Archive): Promise<string> {
  let root = '';
  readXml(await archive.text('META-INF/container.xml'), {
    open: (name, attributes) => {
      if (name === 'rootfile' && root === '') root = attributes().get('full-path') ?? '';
    },
    close: () => {},
    text: () => {},
  });
  if (!archive.has(root)) {
    throw new ExtractionFailure('malformed');
  }
  return root;
}

function readPackage(xml: string, folder: string) {
  const items = new Map<string, Item>();
  const spine: string[] = [];
  readXml(xml, {
    open: (name, attributes) => {
      if (name === 'item') {
        items.set(attributes().get('id') ?? '', {
          href: partOf(folder, attributes().get('href') ?? ''),
          type: attributes().get('media-type') ?? '',
          properties: attributes().get('properties') ?? '',
        });
      } else if (name === 'itemref') {
        spine.push(attributes().get('idref') ?? '');
      }
    },
    close: () => {},
    text: () => {},
  });
  // A part is read once, however often it is listed.
  return { items, spine: [...new Set(spine)] };
}

/** Titles of chapters from a `nav` page or an NCX file; the first one for a part counts. */
function addTitles(titles: Map<string, string>, xml: string, folder: string): void {
  let label: string[] = [];
  let link: string | null = null;
  const end = (href: string) => {
    const title = label.join('').replace(/\s+/g, ' ').trim();
    const part = partOf(folder, href);
    if (title !== '' && !titles.has(part)) titles.set(part, title);
    label = [];
  };
  readXml(
    xml,
    {
      open: (name, attributes) => {
        if (name === 'a' || name === 'navlabel') label = [];
        if (name === 'a') link = attributes().get('href') ?? '';
        // In an NCX file the label comes before its target.
        if (name === 'content' && label.length > 0) end(attributes().get('src') ?? '');
      },
      close: (name) => {
        if (name === 'a' && link !== null) end(link);
      },
      text: (text) => label.push(text),
    },
    true,
  );
}

function partOf(folder: string, href: string): string {
  const path = href.split('#')[0] ?? '';
  try {
    return resolvePart(folder, decodeURIComponent(path));
  } catch {
    return resolvePart(folder, path);
  }
}
