import type { Finding } from './pii-kinds.ts';

/** A group of digits, not within a word or a decimal number. */
const alone = /(?<![\p{L}\p{N}]|\d\.)\d+(?![\p{L}\p{N}]|\.\d)/gu;
/** Separators that people write between groups. */
const between = /^[ \t\u00a0\u2007\u2009\u202f\-\u2010-\u2013]{1,3}$/;
const shortest = 13;
const maxLength = 19;
/** Digits of each group, as cards are written beside other numbers. */
const groupings: readonly (readonly number[])[] = [
  ...Array.from({ length: maxLength - shortest + 1 }, (_, more) => [shortest + more]),
  ...[1, 2, 3, 4, 5, 6, 7].map((last) => [4, 4, 4, last]),
  ...[1, 2, 3].map((last) => [4, 4, 4, 4, last]),
  [4, 6, 4],
  [4, 6, 5],
  [8, 8],
];
const maxGroups = Math.max(...groupings.map((lengths) => lengths.length));
const byLast = Map.groupBy(groupings, (lengths) => lengths.at(-1));
/** First digits and lengths of the networks in use. */
const networks: readonly [RegExp, readonly number[]][] = [
  [/^4/, [13, 16, 19]],
  [/^(?:5[1-5]|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720))/, [16]],
  [/^3[47]/, [15]],
  [/^3(?:0[0-5]|[689])/, [14, 16]],
  [/^(?:6011|65|64[4-9])/, [16, 19]],
  [/^35(?:2[89]|[3-8])/, [16, 19]],
  [/^62/, [16, 17, 18, 19]],
  [/^(?:50|5[6-9]|6[37])/, [13, 14, 15, 16, 17, 18, 19]],
];

interface Group {
  digits: string;
  start: number;
  end: number;
}

/**
 * Card numbers of a known network with a valid Luhn check digit: groups of any length that stand alone, and groups in
 * card format among others, such as a date or a second card. Findings may overlap by chance.
 */
export function findCards(text: string): Finding[] {
  const found: Finding[] = [];
  for (const candidate of candidates(text)) {
    if (isCard(candidate)) {
      found.push({ kind: 'card', start: candidate.start, end: candidate.end });
    }
  }
  return found;
}

/** For each row of groups: the whole row, and the parts in card format. An endless row is never buffered whole. */
function* candidates(text: string): Generator<Group> {
  let row: Group | null = null;
  let latest: Group[] = [];
  for (const { 0: digits, index: start } of text.matchAll(alone)) {
    const group = { digits, start, end: start + digits.length };
    if (row !== null && between.test(text.slice(row.end, start))) {
      row = join(row, group);
      latest = [...latest.slice(1 - maxGroups), group];
    } else {
      if (row !== null) yield row;
      row = group;
      latest = [group];
    }
    yield* cardCandidates(latest);
  }
  if (row !== null) yield row;
}

/** Candidates that end with the last of these groups. */
function cardCandidates(groups: readonly Group[]): Group[] {
  const ending = byLast.get(groups.at(-1)?.digits.length) ?? [];
  return ending
    .filter((lengths) =>
      lengths.every((length, i) => groups.at(i - lengths.length)?.digits.length === length),
    )
    .map((lengths) => groups.slice(-lengths.length).reduce(join));
}

/** Digits beyond the length of a card are dropped: such a candidate is invalid already. */
function join(card: Group, next: Group): Group {
  const digits = card.digits.length > maxLength ? card.digits : card.digits + next.digits;
  return { digits, start: card.start, end: next.end };
}

function isCard({ digits }: Group): boolean {
  const known = networks.some(([first, lengths]) => lengths.includes(digits.length) && first.test(digits));
  return known && passesLuhn(digits);
}

function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let i = 0; i < digits.length; i += 1) {
    const digit = Number(digits.charAt(digits.length - 1 - i));
    const doubled = i % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}
