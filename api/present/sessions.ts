import type { SessionRecord } from '#api/contract/sessions.ts';
import type { Identity } from '#domain/foundation/access/caller.ts';
import type { Session } from '#domain/identity/sessions/session.entity.ts';

/** A session in lists; never with a token. */
export function presentSession(identity: Pick<Identity, 'sessionId'>) {
  return (session: Session): SessionRecord => {
    const end = session.end();
    return {
      session_id: session.id,
      principal_id: session.principalId,
      identity_provider_id: session.providerId,
      status: end !== null ? 'ended' : session.expiresAt <= new Date() ? 'expired' : 'active',
      end_reason: end?.reason ?? null,
      current: session.id === identity.sessionId,
      created_at: session.createdAt.toISOString(),
      last_used_at: session.lastUsedAt.toISOString(),
      expires_at: session.expiresAt.toISOString(),
      ended_at: end?.at.toISOString() ?? null,
    };
  };
}
