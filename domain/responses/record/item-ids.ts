import { createHash } from 'node:crypto';
import { base32 } from '#domain/foundation/kernel/ids.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';

export type ItemPrefix = 'msg' | 'rs' | 'fs' | 'fc' | 'fco' | 'mcp' | 'mcpr' | 'mcpa' | 'mcpl';

/** Derived, so that a retry of the same turn makes the same id. `place` is the output index or `in<position>`. */
export function itemId(
  secrets: Secrets,
  prefix: ItemPrefix,
  responseId: string,
  place: number | string,
): string {
  return `${prefix}_${base32(secrets.mac('response-item', `${responseId}:${place}`).subarray(0, 20))}`;
}

/**
 * The item id of a thread's message, the same for each response that includes it. Made without a secret, since the
 * code that ends a response has none; the message's own id is as hard to guess.
 */
export function threadItemId(messageId: string): string {
  return `msg_${base32(createHash('sha256').update(`thread:${messageId}`).digest().subarray(0, 20))}`;
}

export function callId(secrets: Secrets, responseId: string, outputIndex: number): string {
  return `call_${base32(secrets.mac('response-item', `${responseId}:call:${outputIndex}`).subarray(0, 15))}`;
}

/** The key by which a tool may recognise a repeated call: tenant, response, iteration and call index. */
export function toolCallKey(
  secrets: Secrets,
  call: { tenantId: string; responseId: string; iteration: number; callIndex: number },
): string {
  const text = [call.tenantId, call.responseId, call.iteration, call.callIndex].join(':');
  return secrets.mac('tool-call', text).toString('base64url');
}
