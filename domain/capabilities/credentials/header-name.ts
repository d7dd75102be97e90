import { invalid } from '#domain/foundation/kernel/errors.ts';

/** Headers that belong to the request itself: a credential must not replace them. */
const reserved = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'date',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'idempotency-key',
  'keep-alive',
  'last-event-id',
  'origin',
  'referer',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'via',
]);
const reservedBeginnings = ['access-control-', 'mcp-', 'proxy-', 'sec-', 'x-forwarded-'];

/** @throws `invalid_request` for an invalid or reserved header name */
export function checkHeaderName(text: string): void {
  const name = text.toLowerCase();
  const isToken = /^[!#$%&'*+.^_`|~0-9a-z-]{1,64}$/.test(name);
  if (!isToken || reserved.has(name) || reservedBeginnings.some((beginning) => name.startsWith(beginning))) {
    throw invalid(
      'value.name',
      'name must be that of a header which may carry a credential, such as X-Api-Key.',
    );
  }
}
