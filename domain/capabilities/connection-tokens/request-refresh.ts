import { setTimeout as sleep } from 'node:timers/promises';
import {
  AuthorizationFailure,
  requestMs,
  type IssuedTokens,
} from '#domain/capabilities/connections/authorization-servers.ts';
import type { SourceParts } from '#domain/capabilities/connections/connection-parts.ts';
import { extendLease, type Lease } from './refresh-lease.ts';

/** Before the repetition of a request that did not reach its server. */
const unsentPauseMs = 500;

/**
 * Sends the refresh token. Where no answer came it is sent once more: the first one may have been rotated by an answer
 * that was lost, which some servers forgive for a while.
 */
export async function requestRefresh(
  parts: SourceParts,
  tenantId: string,
  lease: Lease,
): Promise<IssuedTokens | AuthorizationFailure | 'overtaken'> {
  const first = await send(parts, lease);
  if (!(first instanceof AuthorizationFailure) || first.code !== 'unreachable' || first.answered) {
    return first;
  }
  if (!first.sent) {
    await sleep(unsentPauseMs);
  }
  return (await extendLease(parts, tenantId, lease)) ? send(parts, lease) : 'overtaken';
}

async function send(
  { authorizationServers }: SourceParts,
  { grant, refreshToken }: Lease,
): Promise<IssuedTokens | AuthorizationFailure> {
  try {
    return await authorizationServers.refresh(grant, refreshToken, AbortSignal.timeout(requestMs));
  } catch (error) {
    if (error instanceof AuthorizationFailure) {
      return error;
    }
    throw error;
  }
}
