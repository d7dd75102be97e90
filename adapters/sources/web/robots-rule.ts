import { wildcardMatcher } from '../shared/wildcards.ts';

export interface RobotsRule {
  isAllowed: boolean;
  /** The longer of two rules decides. */
  length: number;
  /** @param address of `normalAddress` */
  fits: (address: string) => boolean;
}

/** @param path in which `*` stands for any characters, and `$` at its end for the end of the address */
export function robotsRule(path: string, isAllowed: boolean): RobotsRule {
  const isWhole = path.endsWith('$');
  const parts = (isWhole ? path.slice(0, -1) : path).split('*').map(normal);
  const [start = ''] = parts;
  const length = parts.join('*').length + (isWhole ? 1 : 0);
  if (parts.length === 1) {
    return {
      isAllowed,
      length,
      fits: isWhole ? (address) => address === start : (address) => address.startsWith(start),
    };
  }
  return { isAllowed, length, fits: wildcardMatcher(isWhole ? parts : [...parts, '']) };
}

/** Path and query of an address, written so that they can be compared with rules. */
export function normalAddress(address: string): string {
  const { pathname, search } = new URL(address);
  return normal(pathname + search);
}

const unreserved = /^[a-z0-9._~-]$/i;

/**
 * Each character in one form: as it is if it may stand in addresses, else as its bytes. A star and a dollar sign mean
 * themselves here.
 */
function normal(text: string): string {
  return text
    .toWellFormed()
    .replace(/%[0-9a-fA-F]{2}|[^a-zA-Z0-9._~:/?#[\]@!&'()+,;=%-]/gu, (match) =>
      match.startsWith('%') ? normalByte(match) : encoded(match),
    );
}

function normalByte(code: string): string {
  const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
  return unreserved.test(character) ? character : code.toUpperCase();
}

function encoded(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}
