import type { EntityManager } from '@mikro-orm/postgresql';
import { newId } from '#domain/kernel/ids.ts';
import type { Secrets } from '#domain/kernel/secrets.ts';
import { hashToken, mintToken } from './bearer-token.ts';

const accessSeconds = 600;
/** A refresh token that nobody uses for so long is dead. */
export const refreshIdleSeconds = 7 * 86_400;

/** Shown once, stored as hashes. Durations are seconds from now. */
export interface SessionTokens {
  accessToken: string;
  expiresIn: number;
  refreshToken: string;
  refreshExpiresIn: number;
}

/** An access token and a refresh token of `generation`; neither outlives the session. */
export async function mintTokens(
  work: { em: EntityManager; secrets: Secrets },
  session: { tenantId: string; id: string; generation: number },
): Promise<SessionTokens> {
  const accessToken = mintToken('at');
  const refreshToken = mintToken('rt');
  const rows = await work.em.execute<{ kind: string; seconds: number }[]>(
    `insert into session_tokens (tenant_id, id, session_id, kind, token_hash, generation, expires_at)
     select s.tenant_id, t.id::uuid, s.id, t.kind, t.hash, ?, least(s.expires_at, now() + make_interval(secs => t.seconds::int))
     from sessions s, (values (?, 'access', ?, ?), (?, 'refresh', ?, ?)) as t (id, kind, hash, seconds)
     where s.tenant_id = ? and s.id = ?
     returning kind, floor(extract(epoch from expires_at - now()))::int as seconds`,
    [
      session.generation,
      newId(),
      hashToken(work.secrets, accessToken),
      String(accessSeconds),
      newId(),
      hashToken(work.secrets, refreshToken),
      String(refreshIdleSeconds),
      session.tenantId,
      session.id,
    ],
  );
  const secondsOf = (kind: string): number => rows.find((row) => row.kind === kind)?.seconds ?? 0;
  return {
    accessToken,
    expiresIn: secondsOf('access'),
    refreshToken,
    refreshExpiresIn: secondsOf('refresh'),
  };
}
