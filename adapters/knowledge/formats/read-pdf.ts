import { fileURLToPath } from 'node:url';
import { getDocumentProxy, getResolvedPDFJS } from 'unpdf';
import { ExtractionFailure, type ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import { joinPages } from './join-lines.ts';
import { typeOfName, type PartReader } from './document-parts.ts';
import { linesOf } from './pdf-lines.ts';
import { maxTextLength, TextBuilder } from './text-builder.ts';

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;
type Page = Awaited<ReturnType<Pdf['getPage']>>;

interface Annotation {
  subtype?: string;
  contentsObj?: { str?: string };
  fieldValue?: unknown;
}

/** Of Chinese, Japanese and Korean fonts that are not part of the file, by the standards of their encodings. */
const characterMaps = fileURLToPath(new URL('../cmaps/', import.meta.url));
/** Embedded files, and bytes of all of them. */
const maxFiles = 200;
const maxFileBytes = 64 * 1_024 * 1_024;
/** Pages without text that are examined for images. */
const maxPagesForImages = 5;

/**
 * The text of each page, and of the files that are embedded.
 * @param attached null: embedded files are not read
 * @throws `ExtractionFailure` encrypted, needs_ocr, malformed, too_large
 */
export async function readPdf(bytes: Uint8Array, attached: PartReader | null): Promise<ExtractedText> {
  const pdf = await open(bytes);
  const pages = await pagesOf(pdf);
  const builder = new TextBuilder();
  const joined = joinPages(pages.map(({ lines }) => lines));
  let isEmpty = true;
  for (const [index, text] of joined.entries()) {
    const whole = [text, ...(pages[index]?.notes ?? [])].join('\n').trim();
    builder.add({ heading: null, page: index + 1, anchor: null }, whole);
    isEmpty &&= whole === '';
  }
  const isBroken = pages.some((page) => page.isBroken);
  // Also of a scan with files in it: they do not stand for its pages.
  if (isEmpty && !isBroken && (await hasImages(pdf))) {
    throw new ExtractionFailure('needs_ocr');
  }
  if (attached !== null) await addFiles(builder, pdf, attached);
  const extracted = builder.build();
  if (extracted.text === '' && isBroken) {
    throw new ExtractionFailure('malformed');
  }
  return extracted;
}

/** Files that are embedded, such as the documents of a portfolio; those that are too large are left out. */
async function addFiles(builder: TextBuilder, pdf: Pdf, attached: PartReader): Promise<void> {
  const files = await pdf.getAttachments().catch(() => null);
  if ((files?.size ?? 0) > maxFiles) throw new ExtractionFailure('too_large');
  let length = 0;
  for (const [id, { filename, content }] of files ?? []) {
    // Data of programs, such as those of invoices, which the pages show.
    if (/\.xml$/i.test(filename)) continue;
    const bytes = content ?? (await pdf.getAttachmentContent(id).catch(() => null));
    if (bytes === null || length + bytes.byteLength > maxFileBytes) continue;
    length += bytes.byteLength;
    const text = await attached(new Uint8Array(bytes), typeOfName(filename)).catch(nullIfTooLarge);
    if (text !== null) builder.addText(text, `attachment ${filename}`);
  }
}

function nullIfTooLarge(error: unknown): null {
  if (error instanceof ExtractionFailure && error.code === 'too_large') return null;
  throw error;
}

interface PageLines {
  lines: string[];
  notes: string[];
  isBroken: boolean;
}

/** All pages at once: what a line's last hyphen means, other pages may say. */
async function pagesOf(pdf: Pdf): Promise<PageLines[]> {
  const pages: PageLines[] = [];
  let length = 0;
  for (let number = 1; number <= pdf.numPages; number += 1) {
    try {
      const page = await pdf.getPage(number);
      const { items } = await page.getTextContent();
      const lines = linesOf(items.filter((item) => 'str' in item));
      pages.push({ lines, notes: await annotationTexts(page), isBroken: false });
      page.cleanup();
    } catch {
      pages.push({ lines: [], notes: [], isBroken: true });
    }
    length += (pages.at(-1)?.lines ?? []).reduce((sum, line) => sum + line.length, 0);
    if (length > maxTextLength) throw new ExtractionFailure('too_large');
  }
  return pages;
}

async function open(bytes: Uint8Array): Promise<Pdf> {
  try {
    // A copy: the library takes the buffer over.
    return await getDocumentProxy(new Uint8Array(bytes), {
      cMapUrl: characterMaps,
      cMapPacked: true,
      useSystemFonts: false,
      disableFontFace: true,
      verbosity: 0,
    });
  } catch (error) {
    const encrypted = error instanceof Error && error.name === 'PasswordException';
    throw new ExtractionFailure(encrypted ? 'encrypted' : 'malformed');
  }
}

/** Notes, and what is filled in into forms. */
async function annotationTexts(page: Page): Promise<string[]> {
  const annotations = (await page.getAnnotations()) as Annotation[];
  return annotations.flatMap(({ subtype, contentsObj, fieldValue }) => {
    const value = typeof fieldValue === 'string' && fieldValue !== 'Off' ? fieldValue : '';
    // The text of a link is on the page.
    return [subtype === 'Link' ? '' : (contentsObj?.str ?? ''), value].filter((text) => text.trim() !== '');
  });
}

async function hasImages(pdf: Pdf): Promise<boolean> {
  const { OPS } = await getResolvedPDFJS();
  const paints = new Set([OPS.paintImageXObject, OPS.paintInlineImageXObject, OPS.paintImageMaskXObject]);
  for (let number = 1; number <= Math.min(pdf.numPages, maxPagesForImages); number += 1) {
    const page = await pdf.getPage(number);
    const { fnArray } = await page.getOperatorList();
    if (fnArray.some((operation) => paints.has(operation))) return true;
  }
  return false;
}
