import type { EntityManager } from '@mikro-orm/postgresql';
import type { Context } from '#domain/foundation/access/context.ts';
import type { Origin } from '#domain/foundation/access/caller.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { rebuildActor } from '#domain/identity/principals/rebuild-actor.ts';
import { connectionEvent } from './attempt-event.ts';
import { AuthorizationAttempt } from './authorization-attempt.entity.ts';
import type { AuthorizationFailureCode, AuthorizationTarget } from './authorization-servers.ts';
import type { AttemptFailure } from './connection-status.ts';
import { Connection } from './connection.entity.ts';

/** Of an ended attempt only what its events say is kept. */
const erased = {
  cookieHash: null,
  stateHash: null,
  handleHash: null,
  verifier: null,
  code: null,
  target: {} as AuthorizationTarget,
};

/**
 * Ends an attempt as successful: it leaves nothing that could be used again. @returns false when it had ended
 */
export async function closeAttempt(em: EntityManager, id: string): Promise<boolean> {
  const closed = await em.nativeUpdate(
    AuthorizationAttempt,
    { id, stage: 'exchanging' },
    { stage: 'ended', endReason: 'granted', ...erased },
  );
  return closed > 0;
}

/**
 * Ends an open attempt without a connection, once, with its event. An attempt whose code is being exchanged is not
 * replaced: its tokens would be lost.
 * @returns false when it had ended
 */
export async function failAttempt(
  em: EntityManager,
  id: string,
  { reason, origin }: { reason: AttemptFailure; origin: Origin },
): Promise<boolean> {
  const ended = await em.nativeUpdate(
    AuthorizationAttempt,
    { id, stage: { $nin: reason === 'replaced' ? ['ended', 'exchanging'] : ['ended'] } },
    { stage: 'ended', endReason: reason, ...erased },
  );
  if (ended === 0) {
    return false;
  }
  const attempt = await em.findOneOrFail(AuthorizationAttempt, { id }, { refresh: true });
  const { tenantId, initiatorId: principalId } = attempt;
  if (reason === 'scope_rejected') {
    // A scope that the authorization server does not know would fail every later attempt.
    const { serverId = null, connectorId = null, ownerId = null } = attempt;
    const of = { serverId, connectorId, ownerId, withdrawnAt: null };
    await em.nativeUpdate(Connection, of, { requiredScope: null });
  }
  const actor = await rebuildActor(em, { tenantId, principalId });
  await recordEvent(em, { ...actor, origin }, connectionEvent('security.mcp_auth_failed', attempt, reason));
  return true;
}

/**
 * Ends the open attempts of a holder, in whose place something else comes; one whose code is being exchanged goes on. An
 * omitted member stands for all.
 */
export async function replaceAttempts(
  { em, caller }: Context,
  of: Partial<Record<'serverId' | 'connectorId' | 'ownerId' | 'initiatorId', string | null>>,
): Promise<void> {
  for (const { id } of await em.find(AuthorizationAttempt, { ...of, stage: { $ne: 'ended' } })) {
    await failAttempt(em, id, { reason: 'replaced', origin: caller.origin });
  }
}

const expiryReasons = new Map<string, AttemptFailure>([
  ['opened', 'closed'],
  ['returned', 'not_completed'],
  ['exchanging', 'not_completed'],
]);

/** Ends an attempt whose time is over; its stage says how far the person came. */
export async function expireAttempt(em: EntityManager, id: string): Promise<boolean> {
  const attempt = await em.findOne(AuthorizationAttempt, { id, expiresAt: { $lte: await databaseNow(em) } });
  if (attempt === null || attempt.stage === 'ended') {
    return false;
  }
  const reason = expiryReasons.get(attempt.stage) ?? 'timed_out';
  return failAttempt(em, id, { reason, origin: { via: 'schedule', requestId: null } });
}

export function reasonOf(code: AuthorizationFailureCode): AttemptFailure {
  switch (code) {
    case 'unreachable':
    case 'url_not_allowed':
    case 'not_discovered':
      return 'provider_unavailable';
    case 'access_denied':
      return 'denied';
    case 'client_required':
    case 'client_rejected':
      return 'client_rejected';
    case 'issuer_mismatch':
    case 'grant_rejected':
    case 'scope_rejected':
      return code;
    case 'resource_mismatch':
    case 'pkce_unsupported':
    case 'protocol_error':
      return 'protocol_error';
  }
}
