import { Client } from 'pg';
import { countRows } from './count-rows.ts';
import { countMentions } from './count-mentions.ts';

export interface VerificationRequest {
  /** A login as `app_verifier`. */
  databaseUrl: string;
  tenantId: string;
  /** Ids that the tenant's rows had, which nothing shared may mention any more. */
  sampleIds: readonly string[];
}

export interface Verification {
  /** Rows of the tenant, per table that names tenants. */
  tables: Record<string, number>;
  /** Rows that are not the tenant's and mention the tenant or a sampled id, per table. */
  shared: Record<string, number>;
  /** Objects in stores of bytes. */
  bytes: number;
  /** Whether all of them are 0. */
  clean: boolean;
}

const statementTimeoutMs = 600_000;

/**
 * Counts what is left of a tenant, under a role of its own and without anything that the eraser uses or says. It works
 * from PostgreSQL's catalogue. @throws when a table cannot be counted: what is not seen proves nothing
 */
export async function verifyErasure(request: VerificationRequest): Promise<Verification> {
  const client = new Client({
    connectionString: request.databaseUrl,
    connectionTimeoutMillis: 10_000,
    statement_timeout: statementTimeoutMs,
    application_name: 'platform-verifier',
  });
  await client.connect();
  try {
    const tables = await countRows(client, request.tenantId);
    const shared = await countMentions(client, request.tenantId, request.sampleIds);
    const bytes = tables['public.stored_objects'] ?? 0;
    const counts = [...Object.values(tables), ...Object.values(shared), bytes];
    return { tables, shared, bytes, clean: counts.every((count) => count === 0) };
  } finally {
    await client.end();
  }
}
