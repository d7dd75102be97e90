import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { isSameHead, type Anchor, type AnchorLog } from './anchor.ts';
import type { TenantTurns } from './tenant-turns.ts';

const page = 500;
/** Each chain is anchored daily: what retention drops between two anchors is judged by their time. */
const repeatMs = 86_400_000;

/**
 * Writes the heads of all chains to the anchor log: those that changed since this process wrote them, and each of the
 * others once a day. From then on, a change by the database's owner to an event sealed below that head is detectable.
 * @returns the number of heads written, and the tenant after which it was stopped; null: it reached the end
 */
export async function anchorChains(
  { purge, anchors }: { purge: UnitOfWork; anchors: AnchorLog },
  retentionDays: number,
  { after = null, mayGoOn = () => true, reached = () => undefined }: TenantTurns = {},
): Promise<{ anchored: number; next: string | null }> {
  let anchored = 0;
  for (let from = after ?? nilUuid; ;) {
    const rows = await purge.acrossTenants((em) =>
      em.execute<{ tenant_id: string }[]>('select tenant_id from app.list_chains(?, ?)', [from, page]),
    );
    const heads: Anchor[] = [];
    let stopped = false;
    for (const { tenant_id: tenantId } of rows) {
      const read = await readHead(purge, tenantId, retentionDays);
      heads.push(...read.filter((head) => isNews(head, anchors.lastOf(tenantId))));
      from = tenantId;
      stopped = !mayGoOn();
      if (stopped) break;
    }
    if (heads.length > 0) {
      await anchors.append(heads);
      anchored += heads.length;
    }
    if (rows.length > 0) {
      reached(from);
    }
    if (stopped || rows.length < page) {
      return { anchored, next: stopped ? from : null };
    }
  }
}

function isNews(head: Anchor, last: Anchor | undefined): boolean {
  if (last === undefined || Date.parse(head.at) - Date.parse(last.at) >= repeatMs) return true;
  return !isSameHead(head, last);
}

/**
 * Writes one chain's head to the anchor log.
 * @returns the anchor; null: the tenant has no chain, or nothing is anchored here
 */
export async function anchorChain(
  { purge, anchors }: { purge: UnitOfWork; anchors: AnchorLog },
  tenantId: string,
  retentionDays: number,
): Promise<Anchor | null> {
  const [head] = await readHead(purge, tenantId, retentionDays);
  return head !== undefined && (await anchors.append([head])) ? head : null;
}

async function readHead(purge: UnitOfWork, tenantId: string, retentionDays: number): Promise<Anchor[]> {
  const rows = await purge.inTenant(tenantId, (em) =>
    em.execute<{ seq: string; events: string; head: string; checkpoint: string; at: string }[]>(
      `select seq, event_count as events, encode(head, 'hex') as head, checkpoint_seq as checkpoint,
         to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at
       from event_chains where tenant_id = ?`,
      [tenantId],
    ),
  );
  return rows.map((row) => ({
    at: row.at,
    tenant_id: tenantId,
    seq: Number(row.seq),
    event_count: Number(row.events),
    head: row.head,
    checkpoint_seq: Number(row.checkpoint),
    retention_days: retentionDays,
  }));
}
