/**
 * Characters that are invisible to people but read by models. Tags and variation selectors can carry a whole text;
 * bidi controls change the displayed order; zero-width characters and fillers split words, so that a search misses
 * them.
 */
export type HiddenKind =
  | 'tag'
  | 'bidi'
  | 'zero_width'
  | 'variation_selector'
  | 'filler'
  | 'control'
  | 'ignorable';

/** First and last code point of each range, one pair after the other. */
type Ranges = readonly number[];

const kinds: readonly (readonly [HiddenKind, Ranges])[] = [
  ['tag', [0xe0000, 0xe007f]],
  ['bidi', [0x61c, 0x61c, 0x200e, 0x200f, 0x202a, 0x202e, 0x2066, 0x2069]],
  ['zero_width', [0x200b, 0x200d, 0x2060, 0x2065, 0xfeff, 0xfeff]],
  ['variation_selector', [0xfe00, 0xfe0f, 0x180b, 0x180d, 0x180f, 0x180f, 0xe0100, 0xe01ef]],
  ['filler', [0x115f, 0x1160, 0x3164, 0x3164, 0xffa0, 0xffa0]],
  // Backspace, escape, delete and the second set except its new line: they control a terminal's display.
  ['control', [0x8, 0x8, 0x1b, 0x1b, 0x7f, 0x84, 0x86, 0x9f]],
];

const anyHidden = String.raw`[\p{Default_Ignorable_Code_Point}\uFFF9-\uFFFB\u0008\u001B\u007F-\u0084\u0086-\u009F]`;
const hidden = new RegExp(anyHidden, 'v');
const hiddenRun = new RegExp(`${anyHidden}+`, 'gv');

const rightToLeft: Ranges = [0x590, 0x8ff, 0xfb1d, 0xfdff, 0xfe70, 0xfefc];
/**
 * Scripts with joiners between letters: Arabic script (Persian and others), Syriac, the scripts of India, Mongolian.
 */
const joining: Ranges = [0x600, 0x74f, 0x750, 0x77f, 0x8a0, 0xdff, 0x1800, 0x18aa];
const mongolian: Ranges = [0x1820, 0x18aa];
/** Thai, Lao, Myanmar and Khmer, which have no spaces between words. */
const unspaced: Ranges = [0xe00, 0xeff, 0x1000, 0x109f, 0x1780, 0x17ff];
const hangulJamo: Ranges = [0x1100, 0x11ff];
const han: Ranges = [0x3400, 0x4dbf, 0x4e00, 0x9fff, 0xf900, 0xfaff, 0x20000, 0x3ffff];

const emoji = /^\p{Emoji}$/v;
const pictograph = /^\p{Extended_Pictographic}$/v;
const joinsPictographs = /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier})\uFE0F?$/v;
const neutral = /^[\p{P}\p{S}\p{Zs}]$/v;

/** The flags of England, Scotland and Wales: the only tag sequences in use. */
const flags = ['gbeng', 'gbsct', 'gbwls'].map((region) =>
  String.fromCodePoint(0x1f3f4, ...Array.from(region, (letter) => 0xe0000 + letter.charCodeAt(0)), 0xe007f),
);

/**
 * The text without its hidden characters, with counts by kind. Those that a language or an emoji needs stay. Each
 * character is judged by a few neighbours, so the cost is linear.
 */
export function withoutHidden(text: string): { text: string; found: Map<HiddenKind, number> } {
  const found = new Map<HiddenKind, number>();
  const kept: string[] = [];
  let from = 0;
  for (const { 0: run, index } of text.matchAll(hiddenRun)) {
    const end = index + run.length;
    for (let at = index; at < end;) {
      const code = text.codePointAt(at) ?? 0;
      const length = code > 0xffff ? 2 : 1;
      // A character after a hidden one is judged without context: only the first of a run has a preceding character.
      const needed = lengthNeeded(text, at, { code, before: at === index ? codeBefore(text, at) : 0 });
      if (needed === 0) {
        const kind = kindOf(code);
        found.set(kind, (found.get(kind) ?? 0) + 1);
        if (from < at) {
          kept.push(text.slice(from, at));
        }
        from = at + length;
      }
      at += needed === 0 ? length : needed;
    }
  }
  return { text: from === 0 ? text : kept.join('') + text.slice(from), found };
}

function kindOf(code: number): HiddenKind {
  for (const [kind, ranges] of kinds) {
    if (within(code, ranges)) {
      return kind;
    }
  }
  return 'ignorable';
}

/** Length of the legitimate sequence at `at`: characters that a language or an emoji needs. */
function lengthNeeded(text: string, at: number, { code, before }: { code: number; before: number }): number {
  const length = code > 0xffff ? 2 : 1;
  const next = text.codePointAt(at + length) ?? 0;
  const behind = isHidden(next) ? 0 : next;
  switch (code) {
    case 0xe0067: {
      const flag = flags.find((each) => text.startsWith(each, at - 2));
      return flag === undefined ? 0 : flag.length - 2;
    }
    case 0x200b:
      return within(before, unspaced) && within(behind, unspaced) ? 1 : 0;
    case 0x200c:
      return within(before, joining) ? 1 : 0;
    case 0x200d:
      return within(before, joining) || joinsEmoji(text, at, behind) ? 1 : 0;
    case 0x61c:
    case 0x200e:
    case 0x200f:
      return isBesideRightToLeft(text, at, { before, behind }) ? 1 : 0;
    case 0xfe0e:
    case 0xfe0f:
      return emoji.test(String.fromCodePoint(before)) ? 1 : 0;
    case 0x115f:
    case 0x1160:
      return within(before, hangulJamo) || within(behind, hangulJamo) ? 1 : 0;
    default:
      if (code >= 0xe0100 && code <= 0xe01ef) {
        return within(before, han) ? length : 0;
      }
      return code >= 0x180b && code <= 0x180f && within(before, mongolian) ? 1 : 0;
  }
}

function joinsEmoji(text: string, at: number, behind: number): boolean {
  return (
    pictograph.test(String.fromCodePoint(behind)) &&
    joinsPictographs.test(text.slice(Math.max(0, at - 3), at))
  );
}

/** A bidi mark belongs beside right-to-left letters, with at most a sign or a space between. */
function isBesideRightToLeft(
  text: string,
  at: number,
  { before, behind }: { before: number; behind: number },
): boolean {
  if (within(before, rightToLeft) || within(behind, rightToLeft)) {
    return true;
  }
  const further = before === 0 ? 0 : codeBefore(text, at - String.fromCodePoint(before).length);
  return neutral.test(String.fromCodePoint(before)) && within(further, rightToLeft);
}

/** 0 at the start of the text. */
function codeBefore(text: string, at: number): number {
  const last = text.charCodeAt(at - 1);
  const isLow = last >= 0xdc00 && last <= 0xdfff;
  return text.codePointAt(isLow ? at - 2 : at - 1) ?? 0;
}

/** Whether a code point is invisible to people; some languages and emoji need it all the same. */
export function isHidden(code: number): boolean {
  return hidden.test(String.fromCodePoint(code));
}

function within(code: number, ranges: Ranges): boolean {
  for (let at = 0; at < ranges.length; at += 2) {
    if (code >= (ranges[at] ?? 0) && code <= (ranges[at + 1] ?? 0)) {
      return true;
    }
  }
  return false;
}
