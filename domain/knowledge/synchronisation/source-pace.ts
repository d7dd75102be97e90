import type { EntityManager } from '@mikro-orm/postgresql';

/** Requests to one host for one tenant, over all workers. */
const pace = { perSecond: 500, burst: 500 };

/**
 * Takes `count` requests to a host from the shared bucket.
 * @returns milliseconds to wait before sending them
 */
export async function takeRequests(
  em: EntityManager,
  { tenantId, host, count }: { tenantId: string; host: string; count: number },
): Promise<number> {
  const cost = count / pace.perSecond;
  const [row] = await em.execute<{ wait: number }[]>(
    `insert into source_hosts as h (tenant_id, host, next_at)
     values (?, ?, clock_timestamp() + make_interval(secs => ? - ?))
     on conflict (tenant_id, host) do update set
       next_at = greatest(h.next_at, clock_timestamp() - make_interval(secs => ?)) + make_interval(secs => ?)
     returning (extract(epoch from next_at - clock_timestamp()) * 1000)::float8 as wait`,
    [tenantId, host, cost, pace.burst / pace.perSecond, pace.burst / pace.perSecond, cost],
  );
  return Math.max(0, Math.ceil(row?.wait ?? 0));
}

/** Nobody of the tenant sends a request to the host before the pause is over that it asked for. */
export async function pauseHost(
  em: EntityManager,
  { tenantId, host, ms }: { tenantId: string; host: string; ms: number },
): Promise<void> {
  await em.execute(
    `insert into source_hosts as h (tenant_id, host, next_at) values (?, ?, clock_timestamp() + make_interval(secs => ?))
     on conflict (tenant_id, host) do update set next_at = greatest(h.next_at, excluded.next_at)`,
    [tenantId, host, ms / 1_000],
  );
}
