import { own } from '../kernel/own.ts';
import { maxValues, unknownField } from './unknown-field.ts';

/** What the schema library reports of one problem, without its place. */
export interface SchemaIssue {
  code: string;
  message?: string | undefined;
  origin?: unknown;
  minimum?: unknown;
  maximum?: unknown;
  expected?: unknown;
  values?: unknown;
  format?: unknown;
}

const kinds = new Map([
  ['string', 'a text'],
  ['number', 'a number'],
  ['int', 'a whole number'],
  ['boolean', 'true or false'],
  ['array', 'a list'],
  ['object', 'an object'],
  ['record', 'an object'],
  ['null', 'null'],
]);

/** Formats of the schema library. A pattern of our own has its form in its message. */
const forms: Readonly<Record<string, string>> = {
  uuid: 'must be a UUID',
  guid: 'must be a UUID',
  datetime: 'must be a time with its offset from UTC, such as 2026-11-01T00:00:00Z',
  date: 'must be a day such as 2026-11-01',
  email: 'must be an e-mail address such as ada@example.com',
  url: 'must be an address such as https://www.example.com/path',
};

/**
 * Describes the expected value and, where it is safe, the received one: numbers, kinds and lengths, and a plain word
 * where an enumeration is expected. Other input is not repeated: it may be long or a secret.
 */
export function describeIssue(issue: SchemaIssue, sent: unknown): string {
  const { code, message = '', origin, minimum, maximum, expected, values, format } = issue;
  if (message.startsWith('must ') || code === 'custom') {
    return `${message.startsWith('Invalid') ? 'is not valid' : message}${sentNumber(sent)}`;
  }
  switch (code) {
    case 'unrecognized_keys':
      return message.startsWith(unknownField) ? message : unknownField;
    case 'invalid_type':
      return wrongKind(message, String(expected), sent);
    case 'invalid_value':
      return oneOf(Array.isArray(values) ? values.map(String) : [], sent);
    case 'too_big':
      return `must ${amount(origin, `at most ${String(maximum)}`)}${sentAmount(origin, sent)}`;
    case 'too_small':
      if (minimum === 1 && (origin === 'string' || origin === 'array')) {
        return typeof sent === 'string' && sent !== '' ? 'must not be blank' : 'must not be empty';
      }
      return `must ${amount(origin, `at least ${String(minimum)}`)}${sentAmount(origin, sent)}`;
    case 'invalid_format':
      return own(forms, String(format)) ?? 'is not valid';
    case 'invalid_union':
      return 'is of none of the forms that are known';
    default:
      return 'is not valid';
  }
}

/** The kind of value that is wanted, in words. */
export const kindOf = ({ expected }: SchemaIssue): string | undefined => kinds.get(String(expected));

function wrongKind(message: string, expected: string, value: unknown): string {
  const [, received = ''] = /received ([a-z]+)$/i.exec(message) ?? [];
  if (received === 'undefined') {
    return 'is missing';
  }
  const [kind, sent] = [kinds.get(expected), kinds.get(received)];
  const wanted = kind === undefined ? 'is of another kind than it must be' : `must be ${kind}`;
  if (expected === 'int' && received === 'number') {
    return `${wanted}${sentNumber(value)}`;
  }
  return sent === undefined ? wanted : `${wanted}; ${sent} was sent`;
}

function oneOf(values: readonly string[], sent: unknown): string {
  if (values.length === 0) {
    return 'is not one of the known values';
  }
  const said = typeof sent === 'string' && /^[a-z_]{1,20}$/.test(sent) ? `; ${sent} was sent` : '';
  return values.length === 1
    ? `must be ${values.join('')}${said}`
    : `must be one of ${values.slice(0, maxValues).join(', ')}${values.length > maxValues ? ' and others' : ''}${said}`;
}

function amount(origin: unknown, limit: string): string {
  switch (origin) {
    case 'string':
      return `have ${limit} characters`;
    case 'array':
    case 'set':
      return `have ${limit} entries`;
    default:
      return `be ${limit}`;
  }
}

function sentAmount(origin: unknown, sent: unknown): string {
  if (origin === 'string' || origin === 'array') {
    return typeof sent === 'string' || Array.isArray(sent) ? `; ${sent.length} were sent` : '';
  }
  return sentNumber(sent);
}

function sentNumber(sent: unknown): string {
  return typeof sent === 'number' ? `; ${sent} was sent` : '';
}
