import type { Finding } from '../pii-kinds.ts';

const form = /(?<![\p{L}\p{N}]|\d[.,-])[2-6](?:[ \u00a0-]?\d){12,18}(?![\p{L}\p{N}]|[.,]\d)/gu;
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

/** Card numbers of a known network, with the check digit of Luhn. */
export function findCards(text: string): Finding[] {
  return [...text.matchAll(form)].flatMap((match): Finding[] => {
    const digits = match[0].replace(/\D/g, '');
    const known = networks.some(([first, lengths]) => first.test(digits) && lengths.includes(digits.length));
    return known && passesLuhn(digits)
      ? [{ kind: 'card', start: match.index, end: match.index + match[0].length }]
      : [];
  });
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
