import { parsePhoneNumberFromString, type CountryCode } from 'libphonenumber-js/max';
import type { Finding } from './pii-kinds.ts';

/** With its country code: `+` or `00`, then digits with the usual separators. An extension, `x12`, may follow. */
const international =
  /(?<![\p{L}\p{N}+])(?:\+|00)(?:[ \u00a0\u2009\u202f().\-/\u2010-\u2013]{0,3}\d){7,15}(?!\p{N}|(?!x\d)\p{L})/gu;
/** National format, perhaps directly after `Tel:`; recognised only for the countries of the space's settings. */
const national =
  /(?<![\p{L}\p{N}+/-]|(?<!\p{L})[.,:])\(?\d(?:[ \u00a0\u2009\u202f().\-/\u2010-\u2013]{0,2}\d){6,13}(?!\p{N}|(?!x\d)\p{L}|[.,:]\d)/gu;

/**
 * Max candidates of one text that are validated against the numbering plans. A text with more is a list of numbers:
 * the rest is matched by its form, which bounds the cost.
 */
const maxChecked = 2_000;

/** Phone numbers that are valid by the numbering plans: the length and the first digits must match. */
export function findPhones(text: string, countries: readonly CountryCode[]): Finding[] {
  const found = [...matches(text, international, (candidate) => isPhone(candidate.replace(/^00/, '+')))];
  if (countries.length > 0) {
    const isNational = (candidate: string) => countries.some((country) => isPhone(candidate, country));
    found.push(...matches(text, national, isNational));
  }
  return found;
}

function* matches(text: string, form: RegExp, holds: (candidate: string) => boolean): Generator<Finding> {
  let checked = 0;
  for (const match of text.matchAll(form)) {
    checked += 1;
    for (const candidate of shortenings(match[0])) {
      if (checked > maxChecked || holds(candidate)) {
        yield { kind: 'phone', start: match.index, end: match.index + candidate.length };
        break;
      }
    }
  }
}

/** The candidate, then without its last group of digits, and so on: another number may follow it. */
function* shortenings(candidate: string): Generator<string> {
  for (let rest = candidate; rest.length > 6;) {
    yield rest;
    const shorter = rest.replace(/(?<=\d)\D+\d+$/, '');
    if (shorter === rest) return;
    rest = shorter;
  }
}

function isPhone(candidate: string, country?: CountryCode): boolean {
  // The national zero is often included in brackets; the package does not accept every kind of blank.
  const dialled = candidate.replace(/\(0\)/, '').replace(/[\u2009\u202f]/g, ' ');
  return parsePhoneNumberFromString(dialled, country)?.isValid() ?? false;
}
