import { base32 } from '#domain/kernel/ids.ts';
import type { Secrets } from '#domain/kernel/secrets.ts';

export type ItemPrefix = 'msg' | 'rs' | 'fs' | 'fc' | 'mcp';

/** Derived, so that a retry of the same turn makes the same id. `place` is the output index or `in<position>`. */
export function itemId(
  secrets: Secrets,
  prefix: ItemPrefix,
  responseId: string,
  place: number | string,
): string {
  return `${prefix}_${base32(secrets.mac('response-item', `${responseId}:${place}`).subarray(0, 20))}`;
}

export function callId(secrets: Secrets, responseId: string, outputIndex: number): string {
  return `call_${base32(secrets.mac('response-item', `${responseId}:call:${outputIndex}`).subarray(0, 15))}`;
}

/** The key under which a tool may recognise a repeated call: tenant, response, iteration and call index. */
export function toolCallKey(
  secrets: Secrets,
  call: { tenantId: string; responseId: string; iteration: number; callIndex: number },
): string {
  const text = [call.tenantId, call.responseId, call.iteration, call.callIndex].join(':');
  return secrets.mac('tool-call', text).toString('base64url');
}
