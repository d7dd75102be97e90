import type { EntityManager } from '@mikro-orm/postgresql';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { hashToken, mintToken } from './bearer-token.ts';

const accessSeconds = 600;
/** A refresh token expires after this long without use. */
export const refreshIdleSeconds = 7 * 86_400;

/** Max live tokens of each kind per session: enough for all windows of one browser. */
const maxLive = 20;

/** Shown once, stored as hashes. Durations are seconds from now. */
export interface SessionTokens {
  accessToken: string;
  expiresIn: number;
  refreshToken: string;
  refreshExpiresIn: number;
}

interface TokensOf {
  tenantId: string;
  id: string;
  /** Of the new refresh token. */
  generation: number;
  /** The refresh token that was used, if it is still valid. */
  current?: { id: string; refreshToken: string };
}

/**
 * Creates an access token and a refresh token; neither outlives the session. Of many refreshes with one token, each
 * of whose responses may have been lost, the first get successors; the others return the used token as the current
 * one.
 */
export async function mintTokens(
  { em, secrets }: { em: EntityManager; secrets: Secrets },
  session: TokensOf,
): Promise<SessionTokens> {
  const accessToken = mintToken('at');
  const place = { tenantId: session.tenantId, sessionId: session.id, generation: session.generation };
  await dropOldAccess(em, session);
  const expiresIn = await insertToken(em, {
    ...place,
    kind: 'access',
    hash: hashToken(secrets, accessToken),
    seconds: accessSeconds,
  });
  const { current } = session;
  if (current !== undefined && (await countSuccessors(em, session)) >= maxLive) {
    const refreshExpiresIn = await secondsLeft(em, session.tenantId, current.id);
    return { accessToken, expiresIn, refreshToken: current.refreshToken, refreshExpiresIn };
  }
  const refreshToken = mintToken('rt');
  const refreshExpiresIn = await insertToken(em, {
    ...place,
    kind: 'refresh',
    hash: hashToken(secrets, refreshToken),
    seconds: refreshIdleSeconds,
  });
  return { accessToken, expiresIn, refreshToken, refreshExpiresIn };
}

interface NewToken {
  tenantId: string;
  sessionId: string;
  generation: number;
  kind: 'access' | 'refresh';
  hash: string;
  seconds: number;
}

/** @returns seconds until it expires */
async function insertToken(em: EntityManager, token: NewToken): Promise<number> {
  const [row] = await em.execute<{ seconds: number }[]>(
    `insert into session_tokens (tenant_id, id, session_id, kind, token_hash, generation, expires_at)
     select tenant_id, ?, id, ?, ?, ?, least(expires_at, now() + make_interval(secs => ?))
     from sessions where tenant_id = ? and id = ?
     returning floor(extract(epoch from expires_at - now()))::int as seconds`,
    [newId(), token.kind, token.hash, token.generation, token.seconds, token.tenantId, token.sessionId],
  );
  return row?.seconds ?? 0;
}

/** Makes room for a new token. */
async function dropOldAccess(em: EntityManager, { tenantId, id }: TokensOf): Promise<void> {
  await em.execute(
    `delete from session_tokens where tenant_id = ? and id in (
       select id from session_tokens
       where tenant_id = ? and session_id = ? and kind = 'access' and retired_at is null
       order by created_at desc, id desc offset ?)`,
    [tenantId, tenantId, id, maxLive - 1],
  );
}

/** Refresh tokens that were issued and never used. */
async function countSuccessors(em: EntityManager, { tenantId, id, generation }: TokensOf): Promise<number> {
  const [row] = await em.execute<{ n: number }[]>(
    `select count(*)::int as n from session_tokens
     where tenant_id = ? and session_id = ? and kind = 'refresh' and retired_at is null
       and generation >= ? and expires_at > now()`,
    [tenantId, id, generation],
  );
  return row?.n ?? 0;
}

async function secondsLeft(em: EntityManager, tenantId: string, tokenId: string): Promise<number> {
  const [row] = await em.execute<{ seconds: number }[]>(
    `select floor(extract(epoch from expires_at - now()))::int as seconds from session_tokens
     where tenant_id = ? and id = ?`,
    [tenantId, tokenId],
  );
  return row?.seconds ?? 0;
}
