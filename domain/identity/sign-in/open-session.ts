import type { EntityManager } from '@mikro-orm/postgresql';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { IdentityProvider } from '#domain/identity/identity-providers/identity-provider.entity.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { isOfOpenProvider } from '#domain/identity/sessions/end-sessions.ts';
import { endSuperseded } from '#domain/identity/sessions/live-sessions.ts';
import { mintTokens, type SessionTokens } from '#domain/identity/sessions/mint-tokens.ts';
import { Session } from '#domain/identity/sessions/session.entity.ts';
import { transactionRequired } from './check-id-token.ts';
import { hashFor } from './login-transaction.ts';

const maxSeconds = 30 * 86_400;

/** A session in API form, with its first tokens. */
export interface OpenedSession {
  sessionId: string;
  expiresAt: Date;
  tokens: SessionTokens;
}

export interface NewSession {
  tenantId: string;
  principalId: string;
  provider: Pick<IdentityProvider, 'id'>;
  /** Max lifetime; null: thirty days. */
  maxLifetime: number | null;
  /** Distinguishes this browser from others; null if it stores none of the platform's cookies. */
  device?: string | null;
  requestId: string;
}

/**
 * Creates a session with a new id, whatever the request contained (no session fixation), and ends those that are then
 * too many of its principal. @throws `login_transaction_required` if the provider was disabled meanwhile
 */
export async function openSession(
  work: { em: EntityManager; secrets: Secrets },
  { tenantId, principalId, provider, maxLifetime, device, requestId }: NewSession,
): Promise<OpenedSession> {
  const { em } = work;
  const id = newId();
  const seconds = Math.min(maxLifetime ?? maxSeconds, maxSeconds);
  const deviceHash = device == null ? null : hashFor(work.secrets, 'device', device);
  const isKnown = deviceHash !== null && (await em.count(Session, { principalId, deviceHash })) > 0;
  // Locks the provider against what ends all of its sessions: this one began before that, or begins after it.
  const open = await em.execute(
    `with provider as (select id from identity_providers where tenant_id = ? and id = ? and status = 'active' for share)
     insert into sessions (tenant_id, id, principal_id, provider_id, device_hash, expires_at, created_at)
     select ?, ?, ?, provider.id, ?, now() + make_interval(secs => ?), clock_timestamp() from provider returning id`,
    [tenantId, provider.id, tenantId, id, principalId, deviceHash, seconds],
  );
  if (open.length === 0) {
    throw transactionRequired();
  }
  const superseded = await endSuperseded(em, { tenantId, principalId });
  const tokens = await mintTokens(work, { tenantId, id, generation: 1 });
  const session = await em.findOneOrFail(Session, { id });
  const identity = { tenantId, principalId, apiKeyId: null, keyPermissions: null, sessionId: id };
  const actor = await loadCaller(em, identity, { via: 'api', requestId }, null);
  await recordEvent(em, actor, {
    type: 'security.login_succeeded',
    resource: { type: 'session', id },
    metadata: {
      identity_provider_id: provider.id,
      new_device: !isKnown,
      ...(superseded === 0 ? {} : { sessions_superseded: superseded }),
    },
    notify: !isKnown,
  });
  return { sessionId: id, expiresAt: session.expiresAt, tokens };
}

/** Returns the same session for a repeated request: new tokens, and the earlier ones are retired. */
export async function reopenSession(
  work: { em: EntityManager; secrets: Secrets },
  sessionId: string,
  requestId: string,
): Promise<OpenedSession | null> {
  const { em } = work;
  const [locked] = await em.execute<{ generation: number }[]>(
    `update sessions s set generation = generation + 1, last_used_at = now()
     where id = ? and ended_at is null and expires_at > now() and ${isOfOpenProvider} returning generation`,
    [sessionId],
  );
  if (locked === undefined) {
    return null;
  }
  const session = await em.findOneOrFail(Session, { id: sessionId });
  const { tenantId, principalId } = session;
  const identity = { tenantId, principalId, apiKeyId: null, keyPermissions: null, sessionId };
  await loadCaller(em, identity, { via: 'api', requestId }, null);
  await em.execute(`delete from session_tokens where session_id = ? and kind = 'access'`, [sessionId]);
  await em.execute(
    'update session_tokens set retired_at = coalesce(retired_at, clock_timestamp()) where session_id = ?',
    [sessionId],
  );
  const tokens = await mintTokens(work, { tenantId, id: sessionId, generation: locked.generation });
  return { sessionId, expiresAt: session.expiresAt, tokens };
}
