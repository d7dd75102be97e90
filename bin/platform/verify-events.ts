import { z } from 'zod';
import type { Anchor } from '#domain/foundation/events/anchor.ts';
import {
  verifyChain,
  type Ask,
  type ErasedChain,
  type Verification,
} from '#domain/foundation/events/verify-chain.ts';
import { parseConfig } from '#domain/foundation/kernel/config.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { publicKeyText } from '#domain/operations/erasure-proof/sign-certificate.ts';
import { verifyCertificate } from '#domain/operations/erasure-proof/verify-certificate.ts';
import { fields, table } from './print.ts';
import { readAnchors } from './read-anchors.ts';

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
  /** Its key signed the certificates of erased tenants; without it a missing chain is a difference. */
  MASTER_KEY: z.string().optional(),
});

/**
 * Compares the event log with its seals and with the anchors outside the database. It opens the database
 * itself: a gateway has no access to the anchors, and must not be trusted to verify the log.
 * @throws when anything differs
 */
export async function verifyEvents(options: VerifyOptions): Promise<void> {
  const env = parseConfig(environment, process.env);
  const files = options.anchors ?? (env.ANCHOR_FILE === undefined ? [] : [env.ANCHOR_FILE]);
  const anchors = await readAnchors(files, options.tenant);
  const retentionDays = options.retentionDays ?? env.EVENT_RETENTION_DAYS;
  const database = new Database({ url: env.DATABASE_URL, statementTimeoutMs: 600_000, poolSize: 1 });
  const certificateKey =
    env.MASTER_KEY === undefined ? null : publicKeyText(new Secrets(env.MASTER_KEY).certificateKey());
  let differing = 0;
  try {
    await database.assertRestrictedRole();
    for (const tenantId of options.tenant === undefined
      ? await tenantsOf(database, anchors.keys())
      : [options.tenant]) {
      const verification = await verify(database, tenantId, {
        anchors: anchors.get(tenantId) ?? [],
        retentionDays,
        certificateKey,
      });
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
async function tenantsOf(database: Database, anchored: Iterable<string>): Promise<string[]> {
  const known = new Set(anchored);
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
  outside: { anchors: readonly Anchor[]; retentionDays: number; certificateKey: string | null },
): Promise<Verification> {
  const client = database.newClient();
  await client.connect();
  try {
    // One snapshot, so that events sealed meanwhile make no difference.
    await client.query('begin isolation level repeatable read read only');
    await client.query(`select set_config('app.tenant_id', $1, true)`, [tenantId]);
    const ask = async <Row extends object>(text: string, values: unknown[]) =>
      (await client.query<Row>(text, values)).rows;
    const erased =
      outside.certificateKey === null ? null : await readErased(ask, tenantId, outside.certificateKey);
    return await verifyChain(ask, tenantId, { ...outside, erased });
  } finally {
    await client.end();
  }
}

/** The end of the chain of an erased tenant. Its certificate counts only with the platform's signature. */
async function readErased(ask: Ask, tenantId: string, publicKey: string): Promise<ErasedChain | null> {
  const rows = await ask<{ certificate: string }>(
    'select certificate from app.tenant_tombstones where tenant_id = $1',
    [tenantId],
  );
  for (const row of rows) {
    const check = verifyCertificate(row.certificate, publicKey);
    const chain =
      check.valid && check.certificate.tenant_id === tenantId ? check.certificate.event_chain : null;
    if (chain !== null) return { eventCount: chain.event_count, lastHash: chain.last_hash };
  }
  return null;
}

function describe({ findings, ...verification }: Verification): string {
  const { tenantId: tenant, batches, events, unsealed, anchors } = verification;
  const summary = fields({ tenant, batches, events, unsealed, anchors, differences: findings.length });
  return findings.length === 0
    ? summary
    : `${summary}\n${table(findings, { what: (row) => row.kind, event: (row) => row.eventId, batch: (row) => row.seq })}`;
}
