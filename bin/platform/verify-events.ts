import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { parseAnchors, type Anchor } from '#domain/foundation/events/anchor.ts';
import { verifyChain, type Verification } from '#domain/foundation/events/verify-chain.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { fields, table } from './print.ts';

export interface VerifyOptions {
  tenant?: string;
  anchors?: string[];
  retentionDays?: number;
  json?: boolean;
}

const environment = z.object({
  DATABASE_URL: z.url(),
  ANCHOR_FILE: z.string().optional(),
  EVENT_RETENTION_DAYS: z.coerce.number().int().positive().default(365),
});

/**
 * Compares the event log with its seals and with the anchors outside the database. It opens the database
 * itself: a gateway has no access to the anchors, and must not be trusted to verify the log.
 * @throws when anything differs
 */
export async function verifyEvents(options: VerifyOptions): Promise<void> {
  const env = environment.parse(process.env);
  const files = options.anchors ?? (env.ANCHOR_FILE === undefined ? [] : [env.ANCHOR_FILE]);
  const anchors = files
    .flatMap((file) => parseAnchors(readFileSync(file, 'utf8')))
    .toSorted((a, b) => a.at.localeCompare(b.at));
  const retentionDays = options.retentionDays ?? env.EVENT_RETENTION_DAYS;
  const database = new Database({ url: env.DATABASE_URL, statementTimeoutMs: 600_000, poolSize: 1 });
  let differing = 0;
  try {
    await database.assertRestrictedRole();
    for (const tenantId of options.tenant === undefined
      ? await tenantsOf(database, anchors)
      : [options.tenant]) {
      const verification = await verify(database, tenantId, { anchors, retentionDays });
      console.log(options.json === true ? JSON.stringify(verification) : describe(verification));
      differing += verification.findings.length === 0 ? 0 : 1;
    }
  } finally {
    await database.close();
  }
  if (differing > 0) {
    throw new Error(
      `The log of ${differing} ${differing === 1 ? 'tenant' : 'tenants'} is not as it was sealed.`,
    );
  }
}

/** Tenants with a chain, and tenants with only an anchor left. */
async function tenantsOf(database: Database, anchors: readonly Anchor[]): Promise<string[]> {
  const known = new Set(anchors.map(({ tenant_id: id }) => id));
  for (let after = nilUuid; ;) {
    const rows = await database.call<{ tenant_id: string }>(
      'chains',
      'select * from app.list_chains($1, 500)',
      [after],
    );
    rows.forEach(({ tenant_id: id }) => known.add(id));
    const last = rows.at(-1);
    if (last === undefined) return [...known].toSorted();
    after = last.tenant_id;
  }
}

async function verify(
  database: Database,
  tenantId: string,
  outside: { anchors: readonly Anchor[]; retentionDays: number },
): Promise<Verification> {
  const client = database.newClient();
  await client.connect();
  try {
    // One snapshot, so that events sealed meanwhile make no difference.
    await client.query('begin isolation level repeatable read read only');
    await client.query(`select set_config('app.tenant_id', $1, true)`, [tenantId]);
    const ask = async <Row extends object>(text: string, values: unknown[]) =>
      (await client.query<Row>(text, values)).rows;
    return await verifyChain(ask, tenantId, outside);
  } finally {
    await client.end();
  }
}

function describe({ findings, ...verification }: Verification): string {
  const { tenantId: tenant, batches, events, unsealed, anchors } = verification;
  const summary = fields({ tenant, batches, events, unsealed, anchors, differences: findings.length });
  return findings.length === 0
    ? summary
    : `${summary}\n${table(findings, { what: (row) => row.kind, event: (row) => row.eventId, batch: (row) => row.seq })}`;
}
