import MarkdownIt, { type Token } from 'markdown-it';

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

const unfinished =
  /(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|No|vs|etc|approx|ca|Fig|Inc|Ltd|Co|Jan|Feb|Aug|Sept|Oct|Nov|Dec)|\b(?:e\.g|i\.e|z\.B|d\.h)|\b\p{Lu})\.\s?$/u;
/** At the end of a text, in UTF-16 units: longer than what `unfinished` matches. */
const tailLength = 16;
const maxLength = 600;

/** A passage may begin within a list with indented entries, which must not parse as code. */
const parser = new MarkdownIt().disable('code');

/** The complete sentences of a passage without markup. */
export function readableSentences(passage: string): string[] {
  return blocks(passage).flatMap(sentencesOf).map(showCode).filter(isComplete);
}

/** Placeholder for the characters of code while sentences are split: punctuation in code ends no sentence. */
const hidden = 0xf_0000;

function hideCode(code: string): string {
  return code.replace(/[!-/:-@[-`{-~]/g, (sign) => String.fromCodePoint(hidden + sign.charCodeAt(0)));
}

function showCode(text: string): string {
  return text.replace(/[\u{f0021}-\u{f007e}]/gu, (sign) =>
    String.fromCharCode((sign.codePointAt(0) ?? hidden) - hidden),
  );
}

/** Paragraphs and list entries, their wrapped lines joined; headings, tables and code are left out. */
function blocks(passage: string): string[] {
  const tokens = parser.parse(withoutComments(passage), {});
  return tokens
    .filter(({ type }, index) => type === 'inline' && tokens[index - 1]?.type === 'paragraph_open')
    .map(({ children }) => plain(children ?? []))
    .filter((text) => text !== '');
}

function withoutComments(text: string): string {
  return text
    .split('<!--')
    .map((part, index) => {
      const end = part.indexOf('-->');
      return index === 0 ? part : end === -1 ? `<!--${part}` : ` ${part.slice(end + 3)}`;
    })
    .join('');
}

function plain(tokens: readonly Token[]): string {
  const text = tokens.map(({ type, content }) => {
    switch (type) {
      case 'text':
        return content;
      case 'code_inline':
        return hideCode(content);
      case 'softbreak':
      case 'hardbreak':
        return ' ';
      default:
        return '';
    }
  });
  return text
    .join('')
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/\s+/g, ' ')
    .trim();
}

function sentencesOf(block: string): string[] {
  const sentences: string[] = [];
  let from = 0;
  for (const { segment, index } of segmenter.segment(block)) {
    const end = index + segment.length;
    if (!unfinished.test(block.slice(Math.max(from, end - tailLength), end))) {
      sentences.push(block.slice(from, end).trim());
      from = end;
    }
  }
  return from === block.length ? sentences : [...sentences, block.slice(from).trim()];
}

/** Begins like a sentence and ends like one; a `label: value` entry counts too. */
function isComplete(text: string): boolean {
  const begins = /^["'“„«¿¡(]*(?:\p{Lu}|\p{N}|\p{Lo})/u.test(text);
  const ends = /[.!?…。！？]["'”“»)\]]*$/u.test(text) || /^[^:]{2,60}: \S/.test(text);
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  const isLongEnough = words.length >= 3 || /\p{Lo}{6}/u.test(text);
  return begins && ends && isLongEnough && text.length <= maxLength && !/[|{}]/.test(text);
}
