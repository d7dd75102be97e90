import type { EntityManager } from '@mikro-orm/postgresql';
import { invalidCredentials } from '#domain/foundation/kernel/errors.ts';
import type { Identity, Origin } from '#domain/foundation/access/caller.ts';
import { loadCaller } from '#domain/foundation/access/load-caller.ts';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { endSessions } from './end-sessions.ts';
import { mintTokens, refreshIdleSeconds, type SessionTokens } from './mint-tokens.ts';
import type { FoundToken } from './resolve-token.ts';
import { evaluateRefresh, type Verdict } from './rotation.ts';

/** Milliseconds of the database's clock; infinite times are clamped to finite numbers. */
interface FamilyRow {
  generation: number;
  ended: boolean;
  family_expires: number;
  strict: boolean;
  token_generation: number;
  retired: number | null;
  token_expires: number;
  now: number;
}

type Accepted = Extract<Verdict, { kind: 'accepted' }>;

/** A time that advances by less than this is not written. */
const noticeableSeconds = 60;

/**
 * Number of generations of retired tokens that are remembered: a week in which each access token is used until it
 * expires.
 */
const knownGenerations = 1_000;

interface Deps {
  unitOfWork: UnitOfWork;
  secrets: Secrets;
}

/**
 * Renews a session by one of its refresh tokens, as `evaluateRefresh` decides. A reuse ends the session, whichever
 * holder came first.
 * @throws `invalid_credentials` for every invalid token, `tenant_suspended`, `principal_disabled`
 */
export async function refreshSession(deps: Deps, found: FoundToken, origin: Origin): Promise<SessionTokens> {
  const { tenant_id: tenantId } = found;
  const tokens = await deps.unitOfWork.inTenant(tenantId, async (em) => {
    const row = await lockFamily(em, found);
    if (row === undefined) {
      return null;
    }
    const verdict = judge(row);
    if (verdict.kind === 'refused') {
      return null;
    }
    const identity: Identity = {
      tenantId,
      principalId: found.principal_id,
      apiKeyId: null,
      keyPermissions: null,
      sessionId: found.session_id,
    };
    if (verdict.kind === 'reuse') {
      await endForReuse(em, identity, origin);
      return null;
    }
    await loadCaller(em, identity, origin, null);
    await apply(em, found, verdict);
    const isCurrent = row.retired === null && verdict.retires !== 'all';
    return mintTokens(
      { em, secrets: deps.secrets },
      {
        tenantId,
        id: found.session_id,
        generation: verdict.successor,
        ...(isCurrent ? { current: { id: found.id, refreshToken: found.token } } : {}),
      },
    );
  });
  if (tokens === null) {
    throw invalidCredentials();
  }
  return tokens;
}

/** Reads the input of the rule and locks the session: refreshes of one session are serialised. */
async function lockFamily(em: EntityManager, found: FoundToken): Promise<FamilyRow | undefined> {
  await em.execute('select id from sessions where tenant_id = ? and id = ? for update', [
    found.tenant_id,
    found.session_id,
  ]);
  const [row] = await em.execute<FamilyRow[]>(
    `select s.generation, p.strict_rotation as strict,
       s.ended_at is not null or coalesce(p.sessions_ended_at >= s.created_at, false) as ended,
       (extract(epoch from s.expires_at) * 1000)::float8 as family_expires, k.generation as token_generation,
       (extract(epoch from k.retired_at) * 1000)::float8 as retired,
       (extract(epoch from k.expires_at) * 1000)::float8 as token_expires,
       (extract(epoch from clock_timestamp()) * 1000)::float8 as now
     from sessions s
     join session_tokens k on k.tenant_id = s.tenant_id and k.session_id = s.id
     join identity_providers p on p.tenant_id = s.tenant_id and p.id = s.provider_id
     where s.tenant_id = ? and s.id = ? and k.id = ? and k.kind = 'refresh'`,
    [found.tenant_id, found.session_id, found.id],
  );
  return row;
}

function judge(row: FamilyRow): Verdict {
  return evaluateRefresh(
    { generation: row.token_generation, retiredAt: row.retired, expiresAt: row.token_expires },
    {
      generation: row.generation,
      ended: row.ended,
      expiresAt: row.family_expires,
      strict: row.strict,
    },
    row.now,
  );
}

/** Each statement touches a bounded number of rows, however often the session was renewed before. */
async function apply(
  em: EntityManager,
  { tenant_id: tenantId, session_id: sessionId, id }: FoundToken,
  verdict: Accepted,
): Promise<void> {
  const session = [tenantId, sessionId];
  await em.execute(
    `update sessions set generation = ?, last_used_at = now()
     where tenant_id = ? and id = ? and (generation <> ? or last_used_at < now() - make_interval(secs => ?))`,
    [verdict.current, ...session, verdict.current, noticeableSeconds],
  );
  await em.execute(
    `update session_tokens k set expires_at = least(s.expires_at, now() + make_interval(secs => ?))
     from sessions s
     where s.tenant_id = k.tenant_id and s.id = k.session_id and k.tenant_id = ? and k.session_id = ? and k.id = ?
       and k.expires_at < least(s.expires_at, now() + make_interval(secs => ?))`,
    [refreshIdleSeconds, ...session, id, refreshIdleSeconds - noticeableSeconds],
  );
  if (verdict.retires !== 'none') {
    await em.execute(
      `update session_tokens set retired_at = clock_timestamp()
       where tenant_id = ? and session_id = ? and kind = 'refresh' and retired_at is null and (? = 'all' or id <> ?)`,
      [...session, verdict.retires, id],
    );
    await em.execute(
      `delete from session_tokens where tenant_id = ? and session_id = ? and generation < ? and kind = 'refresh'`,
      [...session, verdict.current - knownGenerations],
    );
  }
}

async function endForReuse(em: EntityManager, identity: Identity, origin: Origin): Promise<void> {
  const { tenantId, principalId, sessionId } = identity;
  if (sessionId == null) {
    return;
  }
  await endSessions(em, { sessionId, reason: 'reuse' });
  await recordEvent(
    em,
    { tenantId, principalId, principalType: 'user', origin },
    {
      type: 'security.refresh_reuse_detected',
      resource: { type: 'session', id: sessionId },
      outcome: 'denied',
      metadata: { principal_id: principalId },
    },
  );
}
