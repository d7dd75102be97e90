import { DomainError } from '#domain/foundation/kernel/errors.ts';

/** Scheme, host and port in normal form. @throws `url_not_allowed` for anything else */
export function requireOrigin(text: string): string {
  const url = URL.parse(text);
  const isWeb = url !== null && (url.protocol === 'https:' || url.protocol === 'http:');
  const isPlain = url !== null && `${url.origin}/` === url.href;
  if (!isWeb || !isPlain) {
    throw new DomainError(
      'url_not_allowed',
      'origin must be http(s)://host or http(s)://host:port and nothing more.',
      {
        param: 'origin',
        errors: [{ in: 'body', pointer: '/origin', code: 'invalid', message: 'must be an origin' }],
      },
    );
  }
  return url.origin;
}

/** Whether a credential of `origin` may be sent to `url`. */
export function isAtOrigin(origin: string, url: string): boolean {
  return URL.parse(url)?.origin === origin;
}
