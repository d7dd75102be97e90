import { fingerprintOf, type IdempotentRequest } from '#domain/foundation/idempotency/idempotency.ts';

/** @param path the operation's path with its ids, without the mount prefix */
export function idempotencyOf(
  key: string | undefined,
  path: string,
  body: unknown,
): IdempotentRequest | null {
  return key === undefined ? null : { key, scope: `POST ${path}`, fingerprint: fingerprintOf(body) };
}
