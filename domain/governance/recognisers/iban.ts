// The package's entry is a CommonJS file that its own settings call a module; this is the same code as a module.
import { countrySpecs, isValidIBAN } from 'ibantools/jsnext/ibantools.js';
import type { Finding } from '../pii-kinds.ts';

const beginning = /(?<![\p{L}\p{N}])[A-Za-z]{2}\d{2}(?=[ -]?[A-Za-z0-9])/gu;

/** Account numbers whose length is their country's and whose check digits are right. */
export function findIbans(text: string): Finding[] {
  const found: Finding[] = [];
  for (const match of text.matchAll(beginning)) {
    const length = countrySpecs[match[0].slice(0, 2).toUpperCase()]?.chars;
    const end = typeof length === 'number' ? endOf(text, match.index, length) : null;
    if (end !== null) {
      const written = text
        .slice(match.index, end)
        .replace(/[ \u00a0-]/g, '')
        .toUpperCase();
      if (isValidIBAN(written)) {
        found.push({ kind: 'iban', start: match.index, end });
      }
    }
  }
  return found;
}

/** Where so many letters and digits end, single separators apart; null when something else comes before. */
function endOf(text: string, start: number, length: number): number | null {
  let at = start;
  for (let taken = 0; taken < length; at += 1) {
    const character = text.charAt(at);
    if (/[A-Za-z0-9]/.test(character)) {
      taken += 1;
    } else if (!/[ \u00a0-]/.test(character) || !/[A-Za-z0-9]/.test(text.charAt(at + 1))) {
      return null;
    }
  }
  return /[\p{L}\p{N}]/u.test(text.charAt(at)) ? null : at;
}
