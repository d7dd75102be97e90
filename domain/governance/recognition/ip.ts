import ipaddr from 'ipaddr.js';
import type { Finding } from './pii-kinds.ts';

const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const version4 = new RegExp(
  `(?<![\\p{L}\\p{N}]|\\d[.])${octet}(?:\\.${octet}){3}(?![\\p{L}\\p{N}]|\\.\\d)`,
  'gu',
);
/** After a colon only if a word that is no group of digits precedes it; a colon may follow. */
const version6 =
  /(?:(?<![\p{L}\p{N}:.])|(?<=[g-z][\p{L}\p{N}]{0,20}:))[0-9a-f:]{1,38}(?:[0-9a-f]|::)(?:(?:\.\d{1,3}){3})?(?![\p{L}\p{N}]|:[\p{L}\p{N}:])/giu;
/** Addresses that identify no host. */
const nobody = new Set(['unspecified', 'loopback', 'broadcast']);

/** Host addresses of both versions. A version number with the same form counts as one. */
export function findIps(text: string): Finding[] {
  const four = [...text.matchAll(version4)].filter(
    (match) =>
      !/(?:version|release|\bv)[ .:]*$/i.test(text.slice(Math.max(0, match.index - 12), match.index)),
  );
  const six = text.includes(':') ? [...text.matchAll(version6)].filter((match) => isSix(match[0])) : [];
  return [...four, ...six]
    .filter((match) => !nobody.has(ipaddr.parse(match[0]).range()))
    .map((match) => ({ kind: 'ip', start: match.index, end: match.index + match[0].length }));
}

/**
 * Identifiers in code such as `a::b` have the form too: an address has a digit and more than two groups, or all
 * eight.
 */
function isSix(text: string): boolean {
  return /\d/.test(text) && text.split(':').filter(Boolean).length >= 2 && ipaddr.IPv6.isValid(text);
}
