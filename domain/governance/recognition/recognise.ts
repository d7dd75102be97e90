import type { CountryCode } from 'libphonenumber-js/max';
import type { Finding, PiiKind } from './pii-kinds.ts';
import { findApiKeys } from './api-key.ts';
import { findCards } from './card.ts';
import { findEmails } from './email.ts';
import { findIbans } from './iban.ts';
import { findIps } from './ip.ts';
import { findPhones } from './phone.ts';

/** Search settings. */
export interface Search {
  kinds: readonly PiiKind[];
  /** Countries whose national phone numbers are recognised; numbers with a country code always are. */
  phoneCountries: readonly CountryCode[];
}

/** Personal data in a text by its form, in order, without overlaps. */
export function recognise(text: string, { kinds, phoneCountries }: Search): Finding[] {
  const wanted = new Set(kinds);
  const find = (kind: PiiKind, search: () => Finding[]): Finding[] => (wanted.has(kind) ? search() : []);
  const digits = /\d{2}/.test(text);
  return withoutOverlaps([
    ...find('api_key', () => findApiKeys(text)),
    ...find('email', () => findEmails(text)),
    ...(digits ? find('iban', () => findIbans(text)) : []),
    ...(digits ? find('card', () => findCards(text)) : []),
    ...find('ip', () => findIps(text)),
    ...(digits ? find('phone', () => findPhones(text, phoneCountries)) : []),
  ]);
}

/** Merges overlapping findings, with the kind of the longer one, so that no part of either is left over. */
export function withoutOverlaps(findings: readonly Finding[]): Finding[] {
  const taken: Finding[] = [];
  const inOrder = findings
    .filter(({ start, end }) => end > start)
    .toSorted((a, b) => a.start - b.start || b.end - a.end);
  for (const finding of inOrder) {
    const last = taken.at(-1);
    if (last === undefined || finding.start >= last.end) {
      taken.push(finding);
    } else {
      const kind = finding.end - finding.start > last.end - last.start ? finding.kind : last.kind;
      taken[taken.length - 1] = { kind, start: last.start, end: Math.max(last.end, finding.end) };
    }
  }
  return taken;
}
