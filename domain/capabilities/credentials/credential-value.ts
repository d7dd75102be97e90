import { invalid } from '#domain/foundation/kernel/errors.ts';
import { isClientKey } from './client-key.ts';
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
  'private_key',
  'token_url',
  'issuer',
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
  | OAuthClientValue
  | { kind: 'access_key'; access_key_id: string; secret_access_key: string; session_token?: string };

/** A client that is registered at an authorization server, which its token address or its issuer names. */
export interface OAuthClientValue {
  kind: 'oauth2_client';
  client_id: string;
  /** Either a secret or a private key. */
  client_secret?: string;
  /** PEM (PKCS #8) for `private_key_jwt`. */
  private_key?: string;
  /** Either the token address or the issuer, whose metadata names it. */
  token_url?: string;
  issuer?: string;
  scope?: string;
}

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
    client_secret: { ...printable(2_048), optional: true },
    private_key: {
      form: /^[\x20-\x7e\r\n]+$/,
      maxBytes: 8_192,
      says: 'must be at most 8192 bytes of PEM',
      optional: true,
    },
    token_url: { ...visible(2_048), optional: true },
    issuer: { ...visible(2_048), optional: true },
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
  if (kind === 'oauth2_client') {
    checkClient(given);
  }
  return { kind, ...given } as CredentialValue;
}

function fits(text: string, { form, maxBytes }: Rule): boolean {
  return text.isWellFormed() && Buffer.byteLength(text) <= maxBytes && form.test(text);
}

function checkClient({
  client_secret: secret,
  private_key: key,
  token_url: tokenUrl,
  issuer,
}: GivenValue): void {
  if ((secret === undefined) === (key === undefined)) {
    throw invalid('value.client_secret', 'Either client_secret or private_key is needed.');
  }
  if (key !== undefined && !isClientKey(key)) {
    throw invalid(
      'value.private_key',
      'private_key must be an RSA, EC or Ed25519 key in PEM (PKCS #8), not encrypted.',
    );
  }
  if ((tokenUrl === undefined) === (issuer === undefined)) {
    throw invalid('value.token_url', 'Either token_url or issuer is needed.');
  }
  if (!isAddress(tokenUrl ?? issuer ?? '')) {
    const name = tokenUrl === undefined ? 'issuer' : 'token_url';
    throw invalid(
      `value.${name}`,
      `${name} must be an http(s) address without credentials or fragment, such as https://auth.example.com/token.`,
    );
  }
}

function isAddress(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    url.hash === ''
  );
}
