import type { Client } from 'pg';

export interface Tampering {
  what: string;
  /**
   * Works as the owner would, with triggers off.
   * @returns whether it changed anything
   */
  apply(admin: Client, tenantId: string): Promise<boolean>;
}

const columns = {
  event_type: `category || '.forged'`,
  category_and_type: '',
  actor_id: `gen_random_uuid()`,
  actor_name: `coalesce(actor_name, '') || 'x'`,
  actor_email: `coalesce(actor_email, '') || 'x'`,
  resource_type: `case resource_type when 'space' then 'tenant' else 'space' end`,
  resource_id: `reverse(resource_id)`,
  metadata: `metadata || '{"outcome":"denied"}'`,
  transaction_id: `(transaction_id::text::bigint + 1)::text::xid8`,
} as const;

/** Picks one of the sealed events by `random` in 0..1. */
const pick = async (
  admin: Client,
  tenantId: string,
  random: number,
): Promise<{ id: string; seq: number; place: number }> => {
  const { rows } = await admin.query<{ id: string; seq: number; place: number }>(
    `select u.id, s.seq::integer, u.place::integer from event_seals s, unnest(s.event_ids) with ordinality u (id, place)
     where s.tenant_id = $1 order by s.seq, u.place
     offset floor($2::float8 * (select sum(event_count) from event_seals where tenant_id = $1))::integer limit 1`,
    [tenantId, random],
  );
  return rows[0]!;
};

/** Recomputes digests and heads from a batch on, as an attacker with full knowledge would. */
export async function rehash(admin: Client, digest: string, tenantId: string, from: number): Promise<void> {
  await admin.query(
    `do $$ declare s event_seals; previous bytea; begin
       select coalesce((select head from event_seals where tenant_id = '${tenantId}' and seq < ${from} order by seq desc limit 1), '') into previous;
       for s in select * from event_seals where tenant_id = '${tenantId}' and seq >= ${from} order by seq loop
         select coalesce(string_agg(${digest}, ''::bytea order by u.place), '') into s.digests
           from unnest(s.event_ids) with ordinality u (id, place) join events e on e.tenant_id = s.tenant_id and e.id = u.id;
         s.digest := sha256(s.digests);
         previous := sha256(previous || int8send(s.seq) || int8send((extract(epoch from s.month) * 1000)::bigint) || s.digest);
         update event_seals set digests = s.digests, digest = s.digest, head = previous, event_count = greatest(cardinality(s.event_ids), 1)
           where tenant_id = s.tenant_id and seq = s.seq;
       end loop;
       update event_chains set head = previous, event_count = (select coalesce(sum(event_count), 0) from event_seals where tenant_id = '${tenantId}')
         where tenant_id = '${tenantId}';
     end $$`,
  );
}

/** One way to change the log, by numbers in 0..1. */
export function tamperingOf(numbers: readonly number[], digest: string): Tampering {
  const [kind = 0, at = 0, how = 0, cover = 0] = numbers;
  const kinds = [edit, remove, swap, cutTail, insert] as const;
  const act = kinds[Math.floor(kind * kinds.length)]!(at, how);
  const covers = cover < 0.5;
  return {
    what: `${act.what}${covers ? ', and hashed anew' : ''}`,
    apply: async (admin, tenantId) => {
      const from = await act.apply(admin, tenantId);
      if (from !== null && covers) await rehash(admin, digest, tenantId, from);
      return from !== null;
    },
  };
}

interface Act {
  what: string;
  /** @returns the first changed batch, null when nothing changed */
  apply(admin: Client, tenantId: string): Promise<number | null>;
}

function edit(at: number, how: number): Act {
  const names = Object.keys(columns) as (keyof typeof columns)[];
  const name = names[Math.floor(how * names.length)]!;
  const set =
    name === 'category_and_type'
      ? `category = case category when 'space' then 'system' else 'space' end,
         event_type = case category when 'space' then 'system' else 'space' end || '.' || split_part(event_type, '.', 2)`
      : `${name} = ${columns[name]}`;
  return {
    what: `edits ${name}`,
    apply: async (admin, tenantId) => {
      const { id, seq } = await pick(admin, tenantId, at);
      await admin.query(`update events set ${set} where tenant_id = $1 and id = $2`, [tenantId, id]);
      return seq;
    },
  };
}

function remove(at: number, how: number): Act {
  return {
    what: 'deletes an event',
    apply: async (admin, tenantId) => {
      const { id, seq, place } = await pick(admin, tenantId, at);
      await admin.query('delete from events where tenant_id = $1 and id = $2', [tenantId, id]);
      if (how < 0.5) {
        await admin.query(
          `update event_seals set event_ids = event_ids[:$3 - 1] || event_ids[$3 + 1:], event_count = greatest(event_count - 1, 1),
             digests = substr(digests, 1, ($3 - 1) * 32) || substr(digests, $3 * 32 + 1) where tenant_id = $1 and seq = $2`,
          [tenantId, seq, place],
        );
        await admin.query('update event_chains set event_count = event_count - 1 where tenant_id = $1', [
          tenantId,
        ]);
      }
      return seq;
    },
  };
}

function swap(at: number, how: number): Act {
  return {
    what: 'reorders events',
    apply: async (admin, tenantId) => {
      const { seq } = await pick(admin, tenantId, at);
      const { rows } = await admin.query<{ ids: string[] }>(
        'select event_ids as ids from event_seals where tenant_id = $1 and seq = $2',
        [tenantId, seq],
      );
      const ids = rows[0]!.ids;
      const i = Math.floor(how * ids.length);
      const j = (i + 1) % ids.length;
      if (i === j) return null;
      [ids[i], ids[j]] = [ids[j]!, ids[i]!];
      await admin.query('update event_seals set event_ids = $3 where tenant_id = $1 and seq = $2', [
        tenantId,
        seq,
        ids,
      ]);
      if (how > 0.5) {
        // Their digests as well.
        await admin.query(
          `update event_seals s set digests = (select string_agg(substr(s.digests, p * 32 + 1, 32), ''::bytea order by o)
             from unnest($3::integer[]) with ordinality u (p, o)) where tenant_id = $1 and seq = $2`,
          [tenantId, seq, ids.map((_, k) => (k === i ? j : k === j ? i : k))],
        );
      }
      return seq;
    },
  };
}

function cutTail(at: number, how: number): Act {
  return {
    what: 'cuts the tail',
    apply: async (admin, tenantId) => {
      const { seq } = await pick(admin, tenantId, at);
      await admin.query(
        `delete from events where tenant_id = $1 and id in
           (select unnest(event_ids) from event_seals where tenant_id = $1 and seq >= $2)`,
        [tenantId, seq],
      );
      if (how < 0.8) {
        await admin.query('delete from event_seals where tenant_id = $1 and seq >= $2', [tenantId, seq]);
        await admin.query(
          `update event_chains c set seq = coalesce(s.seq, 0), head = coalesce(s.head, ''), event_count = coalesce(s.n, 0),
             last_transaction_id = coalesce(s.xid, '0'), last_event_id = coalesce(s.id, '00000000-0000-0000-0000-000000000000')
           from (select max(seq) as seq, (array_agg(head order by seq desc))[1] as head, sum(event_count) as n,
             (array_agg(last_transaction_id order by seq desc))[1] as xid, (array_agg(last_event_id order by seq desc))[1] as id
             from event_seals where tenant_id = $1) s where c.tenant_id = $1`,
          [tenantId],
        );
      }
      return seq;
    },
  };
}

function insert(at: number): Act {
  return {
    what: 'slips an event in',
    apply: async (admin, tenantId) => {
      const { id, seq } = await pick(admin, tenantId, at);
      await admin.query(
        `insert into events (tenant_id, id, category, event_type, actor_id, resource_type, resource_id, metadata, transaction_id)
         select tenant_id, uuidv7(), category, event_type, actor_id, resource_type, resource_id, metadata, '3'::xid8
         from events where tenant_id = $1 and id = $2`,
        [tenantId, id],
      );
      return seq;
    },
  };
}
