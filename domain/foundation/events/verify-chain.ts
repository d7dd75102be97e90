import { createHash } from 'node:crypto';
import type { Anchor } from './anchor.ts';
import type { ChainRow, Finding } from './chain.ts';
import { checkAnchors, firstRetainedMonth } from './check-anchors.ts';
import { eventDigest } from './event-digest.ts';

export interface Verification {
  tenantId: string;
  batches: number;
  /** Sealed events that were compared with their digests. */
  events: number;
  /** Events that no seal covers yet. */
  unsealed: number;
  /** Anchors that were compared; without any, a rewritten chain would not be detected. */
  anchors: number;
  /** At most 100. */
  findings: Finding[];
}

/** The end of a chain that was erased with its tenant, as a certificate with a valid signature states it. */
export interface ErasedChain {
  eventCount: number;
  /** In hex. */
  lastHash: string;
}

/** Queries the database, all in one snapshot. */
export type Ask = <Row extends object>(text: string, values: unknown[]) => Promise<Row[]>;

interface BatchRow {
  seq: number;
  month: Date;
  events: number;
  dropped: boolean;
  stored_digest: string;
  head: string;
  /** Digest of the stored event digests; null when dropped. */
  digest: string | null;
  whole: boolean | null;
  missing: string[] | null;
  changed: string[] | null;
  xid: string;
  id: string;
}

const pageSize = 50;
const maxFindings = 100;

/**
 * Compares a tenant's events with their seals, the seals with the chain, and the chain with its anchors. Trusts only
 * PostgreSQL's own functions.
 * @param outside.retentionDays the deployment's retention: older batches may lack their content
 * @param outside.erased where the chain ended, if its tenant was erased: only that explains why nothing is left of it
 */
export async function verifyChain(
  ask: Ask,
  tenantId: string,
  outside: { anchors: readonly Anchor[]; retentionDays: number; erased?: ErasedChain | null },
): Promise<Verification> {
  const findings: Finding[] = [];
  const report = (finding: Finding): void => {
    if (findings.length < maxFindings) findings.push(finding);
  };
  const anchors = outside.anchors.filter((anchor) => anchor.tenant_id === tenantId);
  const [chain] = await ask<ChainRow>(
    `select seq::float8, event_count::float8 as events, encode(head, 'hex') as head, last_transaction_id::text as xid,
       last_event_id as id, checkpoint_seq::float8, checkpoint_count::float8, encode(checkpoint_head, 'hex') as checkpoint_head,
       now() as now
     from event_chains where tenant_id = $1`,
    [tenantId],
  );
  if (chain === undefined) {
    const [unsealed] = await ask<{ n: number }>(
      'select count(*)::float8 as n from events where tenant_id = $1',
      [tenantId],
    );
    anchors
      .filter(({ seq }) => seq > 0)
      .filter((anchor) => !isBefore(anchor, outside.erased))
      .forEach(({ seq }) => report({ kind: 'anchor_differs', seq }));
    return { tenantId, batches: 0, events: 0, unsealed: unsealed?.n ?? 0, anchors: anchors.length, findings };
  }
  const heads = new Map([[chain.checkpoint_seq, chain.checkpoint_head]]);
  const wanted = new Set(anchors.map(({ seq }) => seq));
  const kept = firstRetainedMonth(chain.now, outside.retentionDays);
  let head = Buffer.from(chain.checkpoint_head, 'hex');
  let last = { seq: chain.checkpoint_seq, xid: '0', id: '' };
  let total = chain.checkpoint_count;
  let compared = 0;
  for (;;) {
    const rows = await ask<BatchRow>(batches, [tenantId, last.seq, pageSize]);
    for (const row of rows) {
      if (row.seq !== last.seq + 1) report({ kind: 'batch_missing', seq: last.seq + 1 });
      if (row.dropped) {
        if (row.month >= kept) report({ kind: 'content_missing', seq: row.seq });
      } else {
        row.missing?.forEach((eventId) => report({ kind: 'event_missing', eventId, seq: row.seq }));
        row.changed?.forEach((eventId) => report({ kind: 'event_changed', eventId, seq: row.seq }));
        if (row.digest !== row.stored_digest || row.whole !== true)
          report({ kind: 'batch_changed', seq: row.seq });
        compared += row.events;
      }
      head = computeNextHead(head, row);
      if (head.toString('hex') !== row.head) report({ kind: 'batch_changed', seq: row.seq });
      if (wanted.has(row.seq)) heads.set(row.seq, head.toString('hex'));
      last = row;
      total += row.events;
    }
    if (rows.length < pageSize) break;
  }
  if (
    last.seq !== chain.seq ||
    total !== chain.events ||
    head.toString('hex') !== chain.head ||
    (last.id !== '' && (last.xid !== chain.xid || last.id !== chain.id))
  ) {
    report({ kind: 'head_changed', seq: last.seq });
  }
  const { added, unsealed } = await findUnsealedEvents(ask, tenantId, kept);
  added.forEach((eventId) => report({ kind: 'event_added', eventId }));
  checkAnchors({ anchors, chain, heads, retentionDays: outside.retentionDays }).forEach(report);
  return { tenantId, batches: last.seq, events: compared, unsealed, anchors: anchors.length, findings };
}

/** Whether an anchored head can belong to the chain that was erased: not behind its end, and equal at its end. */
function isBefore({ event_count: count, head }: Anchor, erased: ErasedChain | null | undefined): boolean {
  if (erased == null || count > erased.eventCount) return false;
  return count < erased.eventCount || head === erased.lastHash;
}

function computeNextHead(head: Buffer, { seq, month, stored_digest: digest }: BatchRow): Buffer<ArrayBuffer> {
  const place = Buffer.alloc(16);
  place.writeBigInt64BE(BigInt(seq), 0);
  place.writeBigInt64BE(BigInt(month.getTime()), 8);
  return createHash('sha256').update(head).update(place).update(Buffer.from(digest, 'hex')).digest();
}

const batches = `
select s.seq::float8, s.month, s.event_count as events, s.event_ids is null as dropped,
  encode(s.digest, 'hex') as stored_digest, encode(s.head, 'hex') as head,
  encode(pg_catalog.sha256(s.digests), 'hex') as digest,
  s.event_count = cardinality(s.event_ids) and length(s.digests) = 32 * s.event_count as whole,
  f.missing, f.changed, s.last_transaction_id::text as xid, s.last_event_id as id
from event_seals s left join lateral (
  select array_agg(u.id) filter (where e.id is null) as missing,
    array_agg(u.id) filter (where e.id is not null
      and ${eventDigest} <> pg_catalog.substr(s.digests, (u.place * 32 - 31)::integer, 32)) as changed
  from unnest(s.event_ids) with ordinality as u (id, place)
  left join events e on e.tenant_id = s.tenant_id and e.id = u.id) f on true
where s.tenant_id = $1 and s.seq > $2 order by s.seq limit $3`;

/**
 * Finds unsealed events of retained months below the sealed position. Events of months past retention may outlive
 * their seals for a while: a month is dropped once every tenant's seals of it are deleted.
 */
async function findUnsealedEvents(
  ask: Ask,
  tenantId: string,
  kept: Date,
): Promise<{ added: string[]; unsealed: number }> {
  const [counts] = await ask<{ below: number; unsealed: number; sealed: number }>(
    `select count(*) filter (where (e.transaction_id, e.id) <= (c.last_transaction_id, c.last_event_id) and e.created_at >= $2)::float8 as below,
       count(*) filter (where (e.transaction_id, e.id) > (c.last_transaction_id, c.last_event_id))::float8 as unsealed,
       (select coalesce(sum(event_count), 0)::float8 from event_seals s
         where s.tenant_id = $1 and s.event_ids is not null and s.month >= $2) as sealed
     from event_chains c left join events e on e.tenant_id = c.tenant_id where c.tenant_id = $1`,
    [tenantId, kept],
  );
  if (counts === undefined || counts.below === counts.sealed) {
    return { added: [], unsealed: counts?.unsealed ?? 0 };
  }
  const strangers = await ask<{ id: string }>(
    `select e.id from events e join event_chains c on c.tenant_id = e.tenant_id
     where e.tenant_id = $1 and (e.transaction_id, e.id) <= (c.last_transaction_id, c.last_event_id) and e.created_at >= $2
       and e.id not in (select unnest(s.event_ids) from event_seals s where s.tenant_id = $1 and s.event_ids is not null)
     limit ${maxFindings}`,
    [tenantId, kept],
  );
  return { added: strangers.map(({ id }) => id), unsealed: counts.unsealed };
}
