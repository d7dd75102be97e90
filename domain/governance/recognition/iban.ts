// The package's entry is a CommonJS file declared as a module; this is the same code as a module.
import { countrySpecs, isValidIBAN } from 'ibantools/jsnext/ibantools.js';
import { own } from '#domain/foundation/kernel/own.ts';
import type { Finding } from './pii-kinds.ts';

const beginning = /(?<![\p{L}\p{N}])[A-Za-z]{2}\d{2}/gu;

/** Account numbers with the length of their country and valid check digits. */
export function findIbans(text: string): Finding[] {
  const found: Finding[] = [];
  for (const match of text.matchAll(beginning)) {
    const length = own(countrySpecs, match[0].slice(0, 2).toUpperCase())?.chars;
    const end = typeof length === 'number' ? endOf(text, match.index, length) : null;
    if (end !== null) {
      const written = text
        .slice(match.index, end)
        .replace(/[^A-Za-z0-9]/g, '')
        .toUpperCase();
      if (isValidIBAN(written)) {
        found.push({ kind: 'iban', start: match.index, end });
      }
    }
  }
  return found;
}

/** The end of this many letters and digits, ignoring blanks and hyphens; null when another character comes first. */
function endOf(text: string, start: number, length: number): number | null {
  const next = /[\s\-\u2010-\u2013]{0,3}[A-Za-z0-9]/y;
  next.lastIndex = start;
  for (let taken = 0; taken < length; taken += 1) {
    if (!next.test(text)) {
      return null;
    }
  }
  return /[\p{L}\p{N}]/u.test(text.charAt(next.lastIndex)) ? null : next.lastIndex;
}
