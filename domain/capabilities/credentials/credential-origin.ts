import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { originOf } from '#domain/foundation/kernel/origin.ts';

/** Scheme, host and port in normal form. @throws `url_not_allowed` for anything else */
export function requireOrigin(text: string): string {
  const origin = originOf(text);
  const href = URL.parse(text)?.href;
  if (origin === null || (href !== origin && href !== `${origin}/`)) {
    throw new DomainError(
      'url_not_allowed',
      'origin must be http(s)://host or http(s)://host:port and nothing more; imap(s) and postgres are schemes too.',
      {
        param: 'origin',
        errors: [{ in: 'body', pointer: '/origin', code: 'invalid', message: 'must be an origin' }],
      },
    );
  }
  return origin;
}

/** Whether a credential of `origin` may be sent to `url`. */
export function isAtOrigin(origin: string, url: string): boolean {
  return originOf(url) === origin;
}
