import type { AuthorizationFailure } from '#domain/capabilities/connections/authorization-servers.ts';
import type { Connection } from '#domain/capabilities/connections/connection.entity.ts';

/** A token with less time left may expire on its way. */
const marginMs = 60_000;
const firstPauseMs = 5_000;
const maxPauseMs = 900_000;
/** After a refusal: only a change at the authorization server, or of the client, helps. */
const refusedPauseMs = 300_000;

/** Whether the access token can be sent, and whether it is time to refresh it. */
export function scheduleOf(
  { status, expiresAt, tokenLifetime }: Connection,
  now: Date,
): { isDue: boolean; stillValid: boolean } {
  const leftMs = (expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) - now.getTime();
  // A token that lives for less than two minutes would be refreshed before every call.
  const dueMs = tokenLifetime == null ? marginMs : Math.min(marginMs, tokenLifetime * 500);
  const stillValid = leftMs > 0 && status !== 'auth_expired';
  return { isDue: !stillValid || leftMs < dueMs, stillValid };
}

/** The pause after a failed refresh, doubled by each further one. */
export function pauseAfter(
  failures: number,
  { code, retryAfterMs }: Pick<AuthorizationFailure, 'code' | 'retryAfterMs'>,
): number {
  const shortest = code === 'unreachable' ? firstPauseMs : refusedPauseMs;
  const pauseMs = Math.min(shortest * 2 ** Math.min(failures, 10), maxPauseMs);
  return Math.max(pauseMs, retryAfterMs ?? 0);
}
