import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { Anchor, AnchorLog } from './anchor.ts';

const page = 500;

/**
 * Writes every chain's head to the anchor log. From then on, a change by the database's owner to an event sealed
 * below that head is detectable.
 * @returns the number of chains
 */
export async function anchorChains(
  { purge, anchors }: { purge: UnitOfWork; anchors: AnchorLog },
  retentionDays: number,
): Promise<number> {
  let count = 0;
  for (let after = nilUuid; ;) {
    const rows = await purge.acrossTenants((em) =>
      em.execute<{ tenant_id: string }[]>('select tenant_id from app.list_chains(?, ?)', [after, page]),
    );
    const heads: Anchor[] = [];
    for (const { tenant_id: tenantId } of rows) {
      heads.push(...(await readHead(purge, tenantId, retentionDays)));
    }
    if (heads.length > 0) {
      await anchors.append(heads);
    }
    count += heads.length;
    const last = rows.at(-1);
    if (last === undefined || rows.length < page) {
      return count;
    }
    after = last.tenant_id;
  }
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
