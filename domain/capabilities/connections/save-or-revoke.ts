import type { Context } from '#domain/foundation/access/context.ts';
import { retryUnavailable } from '#domain/foundation/persistence/retry-unavailable.ts';
import {
  saveConnection,
  savingMs,
  type ClaimedCode,
  type LockHolder,
  type NewTokens,
} from './complete-authorization.ts';
import type { ConnectionParts } from './connection-parts.ts';
import { Connection } from './connection.entity.ts';
import type { ShownConnection } from './read-connection.ts';
import { revokeIssued } from './revoke-issued.ts';

/** Runs work in a transaction with the caller's rights. */
export type InContext = <T>(work: (ctx: Context) => Promise<T>) => Promise<T>;

/**
 * Stores the tokens of a new connection. The code is used up: a database that is unavailable for a moment is tried again,
 * and what cannot be stored is revoked.
 * @throws the refusals of `saveConnection`
 */
export async function saveOrRevoke(
  parts: Pick<ConnectionParts, 'unitOfWork' | 'authorizationServers'>,
  claimed: ClaimedCode,
  issued: { tokens: NewTokens; lockHolder: LockHolder },
  inContext: InContext,
): Promise<ShownConnection> {
  try {
    const save = () => inContext((ctx) => saveConnection(ctx, claimed, issued));
    return await retryUnavailable(save, savingMs);
  } catch (error) {
    await revokeUnstored(parts, claimed, issued.tokens);
    throw error;
  }
}

/** The answer to a commit may have been lost: tokens that are stored, or may be, are not revoked. */
async function revokeUnstored(
  parts: Pick<ConnectionParts, 'unitOfWork' | 'authorizationServers'>,
  { tenantId, connectionId: id, grant }: ClaimedCode,
  tokens: NewTokens,
): Promise<void> {
  const stored = await parts.unitOfWork
    .inTenant(tenantId, (em) => em.count(Connection, { id }))
    .catch(() => null);
  if (stored === 0) {
    await revokeIssued(parts, grant, tokens);
  }
}
