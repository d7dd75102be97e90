import { authorizeOwn } from '#domain/foundation/access/authorize-own.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { DomainError, notFound } from '#domain/foundation/kernel/errors.ts';
import { findCaller } from '#domain/identity/principals/find-principal.ts';
import { endSessions } from './end-sessions.ts';
import { Session } from './session.entity.ts';

/**
 * Ends a session of the tenant; a repeat changes nothing. The caller's own needs no grant.
 * @throws `missing_permission` also for an unknown session, `session_not_found`, and `principal_not_found` for a
 *   caller who is being deleted
 */
export async function revokeSession(ctx: Context, input: { sessionId: string }): Promise<Session> {
  const { caller, em } = ctx;
  const session = await em.findOne(Session, { id: input.sessionId });
  authorizeOwn(caller, 'sessions.revoke', session?.principalId);
  if (session === null) {
    throw notFound('session_not_found');
  }
  await findCaller(ctx);
  const ended = await endSessions(em, { sessionId: session.id, reason: 'revoked' });
  if (ended.length > 0) {
    await recordEvent(em, caller, {
      type: 'security.session_revoked',
      resource: { type: 'session', id: session.id },
      metadata: { principal_id: session.principalId },
    });
  }
  await em.refresh(session);
  return session;
}

/**
 * Ends the session of the caller's access token.
 * @throws `invalid_state` when it was an API key, `principal_not_found` for a caller who is being deleted
 */
export async function signOut(ctx: Context): Promise<Session> {
  const { caller, em } = ctx;
  const { sessionId } = caller;
  if (sessionId == null) {
    throw new DomainError('invalid_state', 'An API key has no session to end; revoke the key instead.');
  }
  await findCaller(ctx);
  const ended = await endSessions(em, { sessionId, reason: 'logout' });
  const session = await em.findOneOrFail(Session, { id: sessionId });
  if (ended.length > 0) {
    await recordEvent(em, caller, {
      type: 'security.logout',
      resource: { type: 'session', id: sessionId },
    });
  }
  return session;
}
