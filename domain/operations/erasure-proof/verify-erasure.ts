import { Client } from 'pg';
import { countRows } from './count-rows.ts';
import { countMentions } from './count-mentions.ts';
import { VerifierFailure } from './verifier-failure.ts';

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
 * from PostgreSQL's catalogue. @throws VerifierFailure when a table cannot be counted: what is not seen proves nothing
 */
export async function verifyErasure(request: VerificationRequest): Promise<Verification> {
  const client = newClient(request.databaseUrl);
  try {
    await client.connect();
    return await count(client, request);
  } catch (error) {
    throw failureOf(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

function newClient(databaseUrl: string): Client {
  const client = new Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 10_000,
    statement_timeout: statementTimeoutMs,
    application_name: 'platform-verifier',
  });
  // A connection that is lost between two queries; the next one throws.
  client.on('error', () => undefined);
  return client;
}

async function count(client: Client, { tenantId, sampleIds }: VerificationRequest): Promise<Verification> {
  const { rows } = await client.query<{ lags: boolean }>('select pg_is_in_recovery() as lags');
  if (rows[0]?.lags !== false) {
    throw new VerifierFailure('verifier_blind', 'The verifier reads a copy, which may lag.');
  }
  const tables = await countRows(client, tenantId);
  const shared = await countMentions(client, tenantId, sampleIds);
  const bytes = tables['public.stored_objects'] ?? 0;
  const counts = [...Object.values(tables), ...Object.values(shared), bytes];
  return { tables, shared, bytes, clean: counts.every((n) => n === 0) };
}

/** Of SQLSTATE: no privilege, or no such table or function. */
const unseen = ['42501', '42P01', '42883'];

function failureOf(error: unknown): VerifierFailure {
  if (error instanceof VerifierFailure) {
    return error;
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return unseen.includes(code)
    ? new VerifierFailure('verifier_blind', 'The verifier may not read what it counts.', { cause: error })
    : new VerifierFailure('verifier_unreachable', 'The verifier’s database does not answer.', {
        cause: error,
      });
}
