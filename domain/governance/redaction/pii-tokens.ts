import { base32 } from '#domain/foundation/kernel/ids.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { PiiKind } from '#domain/governance/recognition/pii-kinds.ts';

/** `text`: user text that only looks like a token. */
export type TokenKind = PiiKind | 'text';

const labels: Readonly<Record<TokenKind, string>> = {
  email: 'EMAIL',
  phone: 'PHONE',
  iban: 'IBAN',
  card: 'CARD',
  ip: 'IP',
  api_key: 'KEY',
  person: 'NAME',
  text: 'TEXT',
};
const form = `\\[(?:${Object.values(labels).join('|')})_[a-z2-7]{12}\\]`;

/** Matches every token in a text. */
export function tokenPattern(): RegExp {
  return new RegExp(form, 'g');
}

/** Matches every token in a JSON document, including its quotes when it is a whole string and no member's name. */
export function stringTokenPattern(): RegExp {
  return new RegExp(`(?<!\\\\)"${form}"(?!\\s*:)|${form}`, 'g');
}

const any = new RegExp(form);

export function mayHoldTokens(text: string): boolean {
  return text.includes('[') && any.test(text);
}

/**
 * The token of a value: the same for the same value in one conversation. Without the deployment's key, a token can
 * neither be forged nor linked to a value. It holds no character that JSON would escape.
 */
export function tokenOf(
  secrets: Pick<Secrets, 'mac'>,
  scope: string,
  { kind, value }: { kind: TokenKind; value: string },
) {
  const mac = secrets.mac('pii-token', JSON.stringify([scope, kind, value]));
  return `[${labels[kind]}_${base32(mac).slice(0, 12)}]`;
}

/**
 * Length of the text's end that may be the beginning of a token, and is held back until more arrives. In UTF-16
 * units.
 */
export function heldBack(text: string): number {
  const open = text.lastIndexOf('[');
  if (open === -1 || text.length - open > maxTokenLength) {
    return 0;
  }
  const tail = text.slice(open);
  return Object.values(labels).some((label) => isBeginning(tail, `[${label}_`)) ? tail.length : 0;
}

const maxTokenLength = Math.max(...Object.values(labels).map((label) => label.length)) + 15;

/** Whether `tail` is an incomplete token with this opening. */
function isBeginning(tail: string, opening: string): boolean {
  return tail.length <= opening.length
    ? opening.startsWith(tail)
    : tail.startsWith(opening) && /^[a-z2-7]{0,12}$/.test(tail.slice(opening.length));
}

/** Occurrences of each token in a text, in a form that a stream event can carry. */
export function countTokens(text: string): Record<string, number> {
  const counts = new Map<string, number>();
  for (const [token] of text.matchAll(tokenPattern())) {
    counts.set(token, (counts.get(token) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}
