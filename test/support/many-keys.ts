import type { Client } from 'pg';

/** Keys of a principal, as a version without a limit of them has made them. */
export async function insertKeys(
  admin: Client,
  of: { tenantId: string; principalId: string },
  { count, prefix }: { count: number; prefix: string },
): Promise<void> {
  await admin.query(
    `insert into api_keys (tenant_id, id, key_id, secret_hash, principal_id, name, expires_at)
     select $1, gen_random_uuid(), $3 || lpad(g::text, 16 - length($3), '0'), repeat('-', 43), $2, 'one of many',
       now() + interval '90 days'
     from generate_series(1, $4::int) g`,
    [of.tenantId, of.principalId, prefix, count],
  );
}
