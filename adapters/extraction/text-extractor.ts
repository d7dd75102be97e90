import { cleanText } from '#domain/kernel/clean-text.ts';
import { assertNever } from '#domain/kernel/assert-never.ts';
import type { DocumentExtractor, ExtractedText } from '#domain/knowledge/document-extractor.ts';
import { markdownSections } from './markdown-sections.ts';
import { readHtml, type HtmlLimits } from './read-html.ts';

const defaults: HtmlLimits = { timeoutMs: 60_000, heapMb: 512 };

/** Reads plain text, markdown and HTML, the last as markdown of its main content. */
export function createTextExtractor(limits: HtmlLimits = defaults): DocumentExtractor {
  return {
    async extract({ mediaType, content }, signal) {
      switch (mediaType) {
        case 'text/plain':
          return plain(cleanText(content));
        case 'text/markdown':
          return markdown(cleanText(content));
        case 'text/html':
          return markdown(cleanText(await readHtml(content, limits, signal)));
        default:
          return assertNever(mediaType);
      }
    },
  };
}

function plain(text: string): ExtractedText {
  return { text, sections: [{ heading: null, start: 0, end: text.length }] };
}

function markdown(text: string): ExtractedText {
  return { text, sections: markdownSections(text) };
}
