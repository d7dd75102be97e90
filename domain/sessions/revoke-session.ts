import type { Context } from '#domain/access/context.ts';
import { authorize } from '#domain/access/policy.ts';
import { recordEvent } from '#domain/events/record-event.ts';
import { DomainError, notFound } from '#domain/kernel/errors.ts';
import { endSessions } from './end-sessions.ts';
import { Session } from './session.entity.ts';

/**
 * Ends a session of the tenant; repeating it changes nothing. One's own needs no permission.
 * @throws `session_not_found`, `missing_permission` for somebody else's
 */
export async function revokeSession(ctx: Context, input: { sessionId: string }): Promise<Session> {
  const { caller, em } = ctx;
  const session = await em.findOne(Session, { id: input.sessionId });
  if (session === null) {
    throw notFound('session_not_found');
  }
  if (session.principalId !== caller.principalId) {
    authorize(caller, 'sessions.revoke');
  }
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

/** Ends the session whose access token the caller has shown. @throws `invalid_state` when it was an API key */
export async function signOut({ caller, em }: Context): Promise<Session> {
  const { sessionId } = caller;
  if (sessionId == null) {
    throw new DomainError('invalid_state', 'An API key has no session to end; revoke the key instead.');
  }
  await endSessions(em, { sessionId, reason: 'logout' });
  const session = await em.findOneOrFail(Session, { id: sessionId });
  await recordEvent(em, caller, {
    type: 'security.logout',
    resource: { type: 'session', id: sessionId },
  });
  return session;
}
