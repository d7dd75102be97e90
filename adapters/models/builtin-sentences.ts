const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

const unfinished =
  /(?:\b(?:Dr|Mr|Mrs|Ms|Prof|St|No|vs|etc|approx|ca|Fig|Inc|Ltd|Co|Jan|Feb|Aug|Sept|Oct|Nov|Dec)|\b(?:e\.g|i\.e|z\.B|d\.h)|\b\p{Lu})\.\s*$/u;
const longest = 600;

/** The complete sentences of a passage without the signs of its markup. */
export function readableSentences(passage: string): string[] {
  return blocks(passage).flatMap(sentencesOf).map(showCode).filter(isComplete);
}

/** Where the signs of code are put while markup is read and sentences are cut: in code they mean neither. */
const hidden = 0xf_0000;

function hideCode(text: string): string {
  return text.replace(/(`+)(?!`)(.*?[^`])\1(?!`)/g, (_, _ticks, code: string) =>
    code.replace(/[!-/:-@[-`{-~]/g, (sign) => String.fromCodePoint(hidden + sign.charCodeAt(0))),
  );
}

function showCode(text: string): string {
  return text.replace(/[\u{f0021}-\u{f007e}]/gu, (sign) =>
    String.fromCharCode((sign.codePointAt(0) ?? hidden) - hidden),
  );
}

/** Paragraphs and list entries, their wrapped lines joined; headings, tables and code are left out. */
function blocks(passage: string): string[] {
  const prose = passage
    .replace(/^ {0,3}(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^ {0,3}\1[^\n]*$|(?![\s\S]))/gm, '\n\n')
    .replace(/<!--[\s\S]*?-->/g, ' ');
  const found: string[][] = [[]];
  for (const line of prose.split(/\r?\n/)) {
    const isApart = /^\s*$|^ {0,3}#{1,6}\s|^\s*\|.*\||^ {0,3}([-*_=])(\s*\1){2,}\s*$/.test(line);
    const entry = /^\s*(?:[-*+]|\d{1,3}[.)])\s+(.*)$/.exec(line);
    if (isApart) {
      found.push([]);
    } else if (entry !== null) {
      found.push([entry[1] ?? '']);
    } else {
      found.at(-1)?.push(line.replace(/^\s*>+\s?/, ''));
    }
  }
  return found.map((lines) => plain(lines.join(' '))).filter((text) => text !== '');
}

function plain(text: string): string {
  return hideCode(text)
    .replace(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<\/?[a-z][^<>]*>/gi, '')
    .replace(/(\*\*|__)(?=\S)(.*?\S)\1/g, '$2')
    .replace(/(?<![\p{L}\p{N}])([*_])(?=\S)([^*_]*\S)\1(?![\p{L}\p{N}])/gu, '$2')
    .replace(/\\([\\`*_{}[\]()#+.!|>~-])/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
}

function sentencesOf(block: string): string[] {
  const joined: string[] = [];
  for (const { segment } of segmenter.segment(block)) {
    const previous = joined.at(-1);
    if (previous !== undefined && unfinished.test(previous)) {
      joined[joined.length - 1] = previous + segment;
    } else {
      joined.push(segment);
    }
  }
  return joined.map((sentence) => sentence.trim());
}

/** Begins like a sentence and ends like one; a `label: value` entry counts too. */
function isComplete(text: string): boolean {
  const begins = /^["'“„«¿¡(]*(?:\p{Lu}|\p{N}|\p{Lo})/u.test(text);
  const ends = /[.!?…。！？]["'”“»)\]]*$/u.test(text) || /^[^:]{2,60}: \S/.test(text);
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  const isLongEnough = words.length >= 3 || /\p{Lo}{6}/u.test(text);
  return begins && ends && isLongEnough && text.length <= longest && !/[|{}]/.test(text);
}
