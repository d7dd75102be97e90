import { invalid } from '#domain/foundation/kernel/errors.ts';
import { checkHeaderName } from './header-name.ts';

export const credentialKinds = ['bearer', 'header', 'basic', 'oauth2_client', 'access_key'] as const;
export type CredentialKind = (typeof credentialKinds)[number];

/** The members of the values of all kinds. */
export const valueMembers = [
  'token',
  'name',
  'value',
  'username',
  'password',
  'client_id',
  'client_secret',
  'token_url',
  'scope',
  'access_key_id',
  'secret_access_key',
  'session_token',
] as const;
type ValueMember = (typeof valueMembers)[number];

/** A value as received; its kind decides which members belong to it. */
export type GivenValue = Readonly<Partial<Record<ValueMember, string | undefined>>>;

export type CredentialValue =
  | { kind: 'bearer'; token: string }
  | { kind: 'header'; name: string; value: string }
  | { kind: 'basic'; username: string; password: string }
  | { kind: 'oauth2_client'; client_id: string; client_secret: string; token_url: string; scope?: string }
  | { kind: 'access_key'; access_key_id: string; secret_access_key: string; session_token?: string };

interface Rule {
  form: RegExp;
  maxBytes: number;
  says: string;
  optional?: true;
}

const visible = (maxBytes: number): Rule => ({
  form: /^[\x21-\x7e]+$/,
  maxBytes,
  says: `must be 1 to ${maxBytes} visible ASCII characters without spaces`,
});
const printable = (maxBytes: number): Rule => ({
  form: /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/,
  maxBytes,
  says: `must be 1 to ${maxBytes} printable ASCII characters and neither begin nor end with a space`,
});

/** The members of each kind. A colon would end the user name of basic authentication. */
const rules: Readonly<Record<CredentialKind, Partial<Record<ValueMember, Rule>>>> = {
  bearer: { token: visible(8_192) },
  header: { name: visible(64), value: printable(8_192) },
  basic: {
    username: {
      form: /^[^\p{Cc}:]+$/u,
      maxBytes: 256,
      says: 'must be 1 to 256 bytes without a colon or control characters',
    },
    password: {
      form: /^[^\p{Cc}]+$/u,
      maxBytes: 1_024,
      says: 'must be 1 to 1024 bytes without control characters',
    },
  },
  oauth2_client: {
    client_id: visible(512),
    client_secret: printable(2_048),
    token_url: visible(2_048),
    scope: { ...printable(1_024), optional: true },
  },
  access_key: {
    access_key_id: visible(256),
    secret_access_key: visible(1_024),
    session_token: { ...visible(8_192), optional: true },
  },
};

/**
 * Validates the value for its kind. A refusal names the member, and never its content.
 * @throws `invalid_request`
 */
export function checkValue(kind: CredentialKind, given: GivenValue): CredentialValue {
  const members = rules[kind];
  for (const member of valueMembers) {
    const [rule, text] = [members[member], given[member]];
    if (rule === undefined) {
      if (text !== undefined) {
        throw invalid(`value.${member}`, `${member} does not belong to a value of kind ${kind}.`);
      }
    } else if (text === undefined ? rule.optional !== true : !fits(text, rule)) {
      throw invalid(`value.${member}`, `${member} ${text === undefined ? 'is needed' : rule.says}.`);
    }
  }
  if (kind === 'header') {
    checkHeaderName(given.name ?? '');
  }
  if (kind === 'oauth2_client' && !isTokenUrl(given.token_url ?? '')) {
    throw invalid('value.token_url', 'token_url must be an http(s) address without credentials or fragment.');
  }
  return { kind, ...given } as CredentialValue;
}

function fits(text: string, { form, maxBytes }: Rule): boolean {
  return text.isWellFormed() && Buffer.byteLength(text) <= maxBytes && form.test(text);
}

function isTokenUrl(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    url.hash === ''
  );
}
