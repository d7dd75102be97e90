import type { Client } from 'pg';

/** Open sessions of a principal, the first of them unused for the longest time. */
export async function insertSessions(
  admin: Client,
  of: { tenantId: string; principalId: string; providerId: string },
  count: number,
): Promise<void> {
  await admin.query(
    `insert into sessions (tenant_id, id, principal_id, provider_id, expires_at, last_used_at, created_at)
     select $1, gen_random_uuid(), $2, $3, now() + interval '30 days',
       now() - interval '1 hour' + g * interval '1 microsecond', now() - interval '1 hour'
     from generate_series(1, $4::int) g`,
    [of.tenantId, of.principalId, of.providerId, count],
  );
}
