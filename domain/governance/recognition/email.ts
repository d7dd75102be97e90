import type { Finding } from './pii-kinds.ts';

const localCharacter = /[\p{L}\p{M}\p{N}.!#$%&'*+/=?^_`{|}~-]/u;
const domainCharacter = /[\p{L}\p{M}\p{N}.-]/u;
const domain =
  /^(?:[\p{L}\p{M}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?\.)+(?:\p{L}[\p{L}\p{M}]{1,62}|xn--[a-z0-9-]{2,59})/iu;
const maxLocalLength = 64;
const maxDomainLength = 253;

/** E-mail addresses, searched outwards from each `@`, so that the cost is linear. */
export function findEmails(text: string): Finding[] {
  const found: Finding[] = [];
  let from = 0;
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    const start = localStart(text, at, from);
    const match = domain.exec(domainAfter(text, at));
    if (start < at && match !== null) {
      const end = at + 1 + match[0].length;
      found.push({ kind: 'email', start, end });
      from = end;
    }
  }
  return found;
}

function localStart(text: string, at: number, from: number): number {
  let start = at;
  while (start > Math.max(from, at - maxLocalLength) && localCharacter.test(text.charAt(start - 1))) {
    start -= 1;
  }
  // Quotes and sentence marks around an address are not part of it.
  while (start < at && /[.'`*{}|/=?!#$%&^~-]/.test(text.charAt(start))) {
    start += 1;
  }
  const local = text.slice(start, at);
  // In `to=anna@example.org` and `mailto/anna@…` the address begins after the sign.
  const boundary = Math.max(local.lastIndexOf('='), local.lastIndexOf('/'), local.lastIndexOf('|'));
  return start + boundary + 1;
}

function domainAfter(text: string, at: number): string {
  let end = at + 1;
  while (end < Math.min(text.length, at + 1 + maxDomainLength) && domainCharacter.test(text.charAt(end))) {
    end += 1;
  }
  return text.slice(at + 1, end);
}
