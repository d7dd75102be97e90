import type { RichText } from './value-wire.ts';

/** What begins another kind of block in Markdown: a heading, its underline, code, a quote, HTML. */
const blockStart = /^([^\S\n]{0,3})(?=#|`{3}|~{3}|>|<|=+[^\S\n]*$|-+[^\S\n]*$)/gm;
const linkTarget = /^https?:\/\/[^\s()<>]{1,2000}$/;

/** Text as Markdown, in which no line is taken for structure. */
export function asMarkdown(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n').replaceAll(blockStart, '$1\\');
}

/** Rich text as Markdown: links are kept, bold type and the like are not, which would cut words for the search. */
export function richTextMarkdown(parts: RichText): string {
  return asMarkdown(linkedText(parts));
}

/** The same where nothing can be taken for structure, because the text is within a line. */
export function linkedText(parts: RichText): string {
  return parts
    .map(({ plain_text: text, href, type }) =>
      type === 'text' && href != null && linkTarget.test(href) && href !== text && text.trim() !== ''
        ? `[${text}](${href})`
        : text,
    )
    .join('');
}

export function plainText(parts: RichText): string {
  return parts.map(({ plain_text: text }) => text).join('');
}

export function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ').trim();
}
