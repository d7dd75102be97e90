import { fileURLToPath } from 'node:url';
import { getDocumentProxy, getResolvedPDFJS } from 'unpdf';
import { ExtractionFailure, type ExtractedText } from '#domain/knowledge/ingestion/document-extractor.ts';
import { linesOf } from './pdf-lines.ts';
import { TextBuilder } from './text-builder.ts';

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;
type Page = Awaited<ReturnType<Pdf['getPage']>>;

interface Annotation {
  subtype?: string;
  contentsObj?: { str?: string };
  fieldValue?: unknown;
}

/** Of Chinese, Japanese and Korean fonts that are not part of the file, by the standards of their encodings. */
const characterMaps = fileURLToPath(new URL('../cmaps/', import.meta.url));
/** Pages without text that are examined for images. */
const maxPagesForImages = 5;

/** The text of each page. @throws `ExtractionFailure` encrypted, needs_ocr, malformed */
export async function readPdf(bytes: Uint8Array): Promise<ExtractedText> {
  const pdf = await open(bytes);
  const builder = new TextBuilder();
  let [textPages, brokenPages] = [0, 0];
  for (let number = 1; number <= pdf.numPages; number += 1) {
    try {
      const page = await pdf.getPage(number);
      const text = await pageText(page);
      if (text.trim() !== '') textPages += 1;
      builder.add({ heading: null, page: number, anchor: null }, text);
      page.cleanup();
    } catch (error) {
      if (error instanceof ExtractionFailure) throw error;
      brokenPages += 1;
    }
  }
  if (textPages === 0 && brokenPages > 0) {
    throw new ExtractionFailure('malformed');
  }
  if (textPages === 0 && (await hasImages(pdf))) {
    throw new ExtractionFailure('needs_ocr');
  }
  return builder.build();
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

async function pageText(page: Page): Promise<string> {
  const { items } = await page.getTextContent();
  const lines = linesOf(items.filter((item) => 'str' in item));
  return [joinLines(lines), ...(await annotationTexts(page))].join('\n').trim();
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

/** Lines of a sentence become one line again, and words that were hyphenated at its end become whole. */
function joinLines(lines: readonly string[]): string {
  const parts: string[] = [];
  let last = '';
  for (const line of lines) {
    const continues = /^\s*\p{Ll}/u.test(line);
    if (continues && /\p{L}-$/u.test(last)) {
      parts.push((parts.pop() ?? '').slice(0, -1), line.trimStart());
    } else {
      parts.push(continues && last !== '' && !/[.:;!?]$/.test(last) ? ' ' : '\n', line.trimEnd());
    }
    last = line.trimEnd();
  }
  return parts.join('').trim();
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
