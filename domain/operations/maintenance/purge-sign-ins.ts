import { agedSweep } from '#domain/operations/sweep-kinds/aged-rows.ts';

/**
 * Deletes sign-ins, attempts to connect accounts, registrations that are used no more, tokens, sessions and API keys
 * whose retention is over. A token is kept for a day after its expiry, so that its holder gets the precise error; a
 * session and a key for a month after it ended or expired, a key also as long as a response refers to it.
 */
export const purgeSignIns = agedSweep([
  { table: 'login_transactions', column: 'expires_at', retention: '1 day' },
  { table: 'authorization_attempts', column: 'expires_at', retention: '1 day', onlyIf: `r.stage = 'ended'` },
  {
    // Registrations that neither a connection nor an attempt refers to: the next attempt registers again.
    table: 'authorization_clients',
    column: 'created_at',
    retention: '1 day',
    onlyIf: `not exists (select from mcp_connections c where c.tenant_id = r.tenant_id and c.client_id = r.id)
      and not exists (select from authorization_attempts a where a.tenant_id = r.tenant_id and a.client_id = r.id)`,
  },
  { table: 'used_id_tokens', column: 'expires_at', retention: '0' },
  { table: 'session_tokens', column: 'expires_at', retention: '1 day' },
  ...(['ended_at', 'expires_at'] as const).map((column) => ({
    table: 'sessions',
    column,
    retention: '30 days',
    onlyIf: `not exists (select from session_tokens k where k.tenant_id = r.tenant_id and k.session_id = r.id)
      and not exists (select from used_id_tokens u where u.tenant_id = r.tenant_id and u.session_id = r.id)`,
  })),
  ...(['revoked_at', 'expires_at'] as const).map((column) => ({
    table: 'api_keys',
    column,
    retention: '30 days',
    onlyIf: `not exists (select from responses s where s.tenant_id = r.tenant_id and s.api_key_id = r.id)`,
  })),
]);
