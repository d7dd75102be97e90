import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { WatchLimits } from '#activities/connectors/watch-limits.ts';
import { WatchPlaces } from '#activities/connectors/watch-places.ts';
import { mcpProvider } from '#adapters/sources/mcp/provider.ts';
import { watchSource } from '#activities/connectors/watch-source.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { WatchSourceResult } from '#workflows/run-connector/messages.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { ConnectorSpace, testProviders } from '#test/support/sources/connector-space.ts';
import { MemorySource, memoryProvider } from '#test/support/sources/memory-source.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

const quick: WatchLimits = {
  watchMs: 60_000,
  checkMs: 50,
  debounceMs: 20,
  pace: { change: { runs: 2, withinMs: 3_000 }, gap: { runs: 1, withinMs: 60_000 } },
  minHeldMs: 300,
  again: { minMs: 50, maxMs: 800, afterMs: 60_000 },
  perTenant: 2,
};

describe('a watch of a source', () => {
  const stops: AbortController[] = [];
  afterEach(() => {
    for (const stop of stops.splice(0)) stop.abort(new Error('stopped'));
  });

  /** An active connector of a scripted source, with watches that share places. */
  async function served(limits: Partial<WatchLimits> = {}) {
    const source = new MemorySource();
    const catalogue = testProviders([memoryProvider(new Map([['m', source]]), { push: true }), mcpProvider]);
    const sources = { ...catalogue, open: () => Promise.resolve(source) };
    const space = await ConnectorSpace.create(world, sources, {
      providerSlug: 'memory',
      scopeConfig: { name: 'm' },
    });
    const run = (sql: string, ...values: unknown[]) =>
      world.admin.query(sql, [space.connectorId, ...values]).then(() => undefined);
    await run(`update connectors set status = 'active' where id = $1`);
    const all = { ...quick, ...limits };
    const deps = {
      unitOfWork: world.unitOfWork,
      sources,
      limits: all,
      places: new WatchPlaces(all.perTenant),
    };
    const watch = () => {
      const stop = new AbortController();
      stops.push(stop);
      const end = watchSource(deps, space.ids, stop.signal);
      end.catch(() => undefined);
      return { end, stop: () => stop.abort(new Error('stopped')) };
    };
    return {
      source,
      space,
      run,
      watch,
      held: async (count = 1) => {
        await expect.poll(() => source.watches.size, { timeout: 10_000, interval: 10 }).toBe(count);
        return [...source.watches].at(-1)!;
      },
      /** Ends what is queued, as a run would that has updated so many documents. */
      finish: (updated = 1) =>
        run(
          `update sync_runs set status = 'completed', completed_at = now(), updated = $2
           where connector_id = $1 and status = 'queued'`,
          updated,
        ),
      /** Runs that reports have begun. */
      reported: async () => (await space.runs()).filter(({ trigger }) => trigger === 'webhook').length,
    };
  }
  const soon = { timeout: 8_000, interval: 20 };

  it('queues an incremental run after its beginning, and one for a change, and wakes the actor', async () => {
    const { space, watch, held, finish, reported } = await served();
    watch();
    const { change } = await held();
    await expect.poll(reported, soon).toBe(1);
    expect(await space.runs()).toMatchObject([
      { trigger: 'webhook', mode: 'incremental', status: 'queued', createdBy: null },
    ]);
    await finish();
    change();
    await expect.poll(reported, soon).toBe(2);
    const [run] = await space.runs();
    const { rows } = await world.admin.query<{ payload: object }>(
      'select payload from outbox where workflow_id = $1 order by id desc limit 1',
      [`connector/${space.ids.tenantId}/${space.connectorId}`],
    );
    expect(rows).toMatchObject([{ payload: { signal: 'syncRequested', args: [run!.id] } }]);
  });

  it('leaves it to a queued run', async () => {
    const { space, watch, held, reported } = await served();
    await space.request();
    watch();
    const { change } = await held();
    change();
    await sleep(300);
    expect(await reported()).toBe(0);
    expect(await space.runs()).toHaveLength(1);
  });

  it('queues two runs within its pace however many changes are reported, and the last change has one', async () => {
    const { watch, held, finish, reported } = await served();
    watch();
    const { change } = await held();
    const flood = setInterval(() => {
      for (let n = 0; n < 1_000; n += 1) change();
    }, 5);
    const ending = setInterval(() => void finish(), 50);
    await sleep(2_000);
    expect(await reported()).toBe(2);
    clearInterval(flood);
    // The pace of 3 s from the first run on: the rest of the flood is one run.
    await expect.poll(reported, soon).toBe(3);
    await sleep(1_000);
    expect(await reported()).toBe(3);
    clearInterval(ending);
  });

  it('queues fewer runs while those that reports have begun change nothing', async () => {
    const change = { runs: 1, withinMs: 300, maxWithinMs: 1_200 };
    const { watch, held, finish, space } = await served({ pace: { ...quick.pace, change } });
    watch();
    const { change: report } = await held();
    const reporting = setInterval(report, 20);
    let updated = 0;
    const ending = setInterval(() => void finish(updated), 20);
    const times = async () =>
      (await space.runs()).map(({ createdAt }) => createdAt.getTime()).toSorted((a, b) => a - b);
    await expect.poll(async () => (await times()).length, soon).toBe(5);
    const at = await times();
    const pauses = at.slice(1).map((time, n) => time - at[n]!);
    expect(pauses[1]).toBeGreaterThanOrEqual(1_150);
    expect(pauses[2]).toBeGreaterThanOrEqual(1_150);
    expect(pauses[2]).toBeLessThan(2_000);
    updated = 1;
    await expect.poll(async () => (await times()).length, soon).toBe(8);
    const since = (await times()).slice(6);
    expect(since[1]! - since[0]!).toBeLessThan(900);
    clearInterval(reporting);
    clearInterval(ending);
  });

  it.each([
    ['paused', `update connectors set status = 'paused' where id = $1`],
    ['gone', `delete from connectors where id = $1`],
    [
      'of a tenant that is to be deleted',
      `update tenants t set status = 'deletion_scheduled' from connectors c where c.id = $1 and t.tenant_id = c.tenant_id`,
    ],
    [
      'of a deleted collection',
      `update collections l set deleted_at = now() from connectors c where c.id = $1 and l.id = c.collection_id`,
    ],
  ])('ends when the connector is %s', async (_, change) => {
    const { run, watch, held } = await served();
    const { end } = watch();
    await held();
    await run(change);
    expect(await end).toMatchObject({ is: 'ended' });
    await held(0);
  });

  it('begins again with another scope', async () => {
    const { source, run, watch, held } = await served();
    watch();
    const first = await held();
    await run(`update connectors set scope_config = '{"name":"m","note":"x"}' where id = $1`);
    await expect.poll(() => [...source.watches][0] ?? first, soon).not.toBe(first);
    expect(source.watches.size).toBe(1);
  });

  it('begins again with another credential, and with one that is rotated', async () => {
    const { source, run, watch, held } = await served();
    watch();
    const first = await held();
    const credential = `insert into credentials (tenant_id, id, name, kind, origin, sealed_value, created_by)
      select tenant_id, id, 'C', 'bearer', 'https://a.example', 'x', principal_id from connectors where id = $1`;
    await run(credential);
    await run('update connectors set credential_id = id where id = $1');
    await expect.poll(() => [...source.watches][0] ?? first, soon).not.toBe(first);
    const second = await held();
    await run('update credentials set last_used_at = now() where id = $1');
    await sleep(300);
    expect(source.watches.has(second)).toBe(true);
    await run('update credentials set version = version + 1 where id = $1');
    await expect.poll(() => [...source.watches][0] ?? second, soon).not.toBe(second);
  });

  it('begins again when its tool server has another address, credential or account, and fails when that is disabled', async () => {
    const { source, run, watch, held } = await served();
    const from = 'from connectors c where c.id = $1 and s.tenant_id = c.tenant_id and s.id = c.id';
    await run(`insert into mcp_servers (tenant_id, id, space_id, slug, display_name, url, connection_mode, created_by)
      select tenant_id, id, space_id, 's', 'S', 'https://a.example/mcp', 'shared', principal_id from connectors where id = $1`);
    await run(`insert into credentials (tenant_id, id, name, kind, origin, sealed_value, created_by)
      select tenant_id, id, 'D', 'bearer', 'https://b.example', 'x', principal_id from connectors where id = $1`);
    await run(
      `update connectors set provider_slug = 'mcp', scope_config = jsonb_build_object('server_id', id) where id = $1`,
    );
    const { end } = watch();
    let before = await held();
    await run(`update mcp_servers s set last_checked_at = now(), display_name = 'T' ${from}`);
    await sleep(300);
    expect(source.watches.has(before)).toBe(true);
    for (const change of [
      `update mcp_servers s set url = 'https://b.example/mcp' ${from}`,
      `insert into mcp_connections (tenant_id, id, server_id, space_id, connected_by, status, issuer, target)
        select tenant_id, id, id, space_id, principal_id, 'connected', 'https://c.example', '{}' from connectors where id = $1`,
      `update mcp_connections set withdrawn_at = now(), revoke_at = now(), status = 'revoked' where id = $1`,
      `update mcp_servers s set connection_mode = 'none', credential_id = c.id ${from}`,
      `update credentials set version = version + 1 where id = $1`,
    ]) {
      await run(change);
      await expect.poll(() => [...source.watches][0] ?? before, soon).not.toBe(before);
      before = await held();
    }
    await run(`update mcp_servers s set status = 'disabled' ${from}`);
    expect(await end).toMatchObject({ is: 'failed' });
    await held(0);
  });

  it('begins again with documents that a run has found, and with no other run', async () => {
    const { source, run, watch, held } = await served();
    watch();
    const first = await held();
    expect(first.refs).toEqual([]);
    await run('update connectors set last_synced_at = now() where id = $1');
    await sleep(300);
    expect(source.watches.has(first)).toBe(true);
    await run(`insert into source_documents (tenant_id, id, connector_id, ref, name, state, listing)
      select tenant_id, uuidv7(), id, 'a:1', 'a', 'stored', 1 from connectors where id = $1`);
    await run(`update connectors set last_synced_at = now() + interval '1 s' where id = $1`);
    await expect.poll(() => [...source.watches][0]?.refs, soon).toEqual(['a:1']);
  });

  it('goes on with other documents where its source reports changes of the list alone', async () => {
    const { source, run, watch, held } = await served();
    source.usesRefs = false;
    watch();
    const first = await held();
    await run(`insert into source_documents (tenant_id, id, connector_id, ref, name, state, listing)
      select tenant_id, uuidv7(), id, 'a:1', 'a', 'stored', 1 from connectors where id = $1`);
    await run('update connectors set last_synced_at = now() where id = $1');
    await sleep(500);
    expect(source.watches.has(first)).toBe(true);
  });

  it('goes on with documents beyond the bytes of one subscription', async () => {
    const { source, run, watch, held } = await served();
    const add = (from: number, to: number) =>
      run(
        `insert into source_documents (tenant_id, id, connector_id, ref, name, state, listing)
         select tenant_id, uuidv7(), id, 'a:' || rpad(n::text, 1998, 'x'), 'a', 'stored', 1
         from connectors, generate_series($2::int, $3::int) n where id = $1`,
        from,
        to,
      );
    await add(10, 50);
    watch();
    const first = await held();
    expect(first.refs).toHaveLength(32);
    await add(51, 60);
    await run('update connectors set last_synced_at = now() where id = $1');
    await sleep(500);
    expect(source.watches.has(first)).toBe(true);
  });

  it('counts the requests of its source in the pace of the host', async () => {
    const { watch, held } = await served();
    watch();
    const { pace } = await held();
    const before = performance.now();
    await pace(500);
    await pace(250);
    expect(performance.now() - before).toBeGreaterThan(400);
  });

  it('ends when its time is over', async () => {
    const { watch, held } = await served({ watchMs: 3_000 });
    const { end } = watch();
    await held();
    expect(await end).toEqual({ is: 'expired', wasHeld: true });
  });

  it('says that a source reports no changes', async () => {
    const { watch, held } = await served();
    const { end } = watch();
    (await held()).end('unsupported');
    expect(await end).toMatchObject({ is: 'unsupported' });
  });

  it('fails where the source refuses, and where it ends each subscription soon', async () => {
    const { source, space, watch, held } = await served();
    source.before = () => {
      throw new SourceFailure('auth_failed', 'It refuses.');
    };
    expect(await watch().end).toEqual({ is: 'failed', wasHeld: false });
    // A long wait for the refusal is no subscription.
    source.before = async () => {
      await sleep(quick.minHeldMs + 100);
      throw new SourceFailure('source_unreachable', 'It is silent.');
    };
    expect(await watch().end).toEqual({ is: 'failed', wasHeld: false });
    source.before = () => {};
    const { end } = watch();
    (await held()).end('closed');
    expect(await end).toEqual({ is: 'failed', wasHeld: false });
    expect(await space.read()).toMatchObject({ status: 'active', failedRuns: 0 });
  });

  it('subscribes again after a stream that was cut, with one run for all of these gaps', async () => {
    const { source, watch, held, finish, reported } = await served();
    const { end } = watch();
    for (let cuts = 0; cuts < 3; cuts += 1) {
      const each = await held();
      await sleep(400);
      each.end('closed');
      await expect.poll(() => source.watches.has(each), soon).toBe(false);
      await finish();
    }
    await held();
    await sleep(300);
    expect(await reported()).toBe(1);
    source.before = () => {
      throw new SourceFailure('source_unreachable', 'It is away.');
    };
    (await held()).end('closed');
    const result: WatchSourceResult = await end;
    expect(result).toEqual({ is: 'failed', wasHeld: true });
  });

  it('pauses longer with each stream that is cut, and as before after a long subscription', async () => {
    // Long beside what a busy machine adds.
    const again = { minMs: 200, maxMs: 1_600, afterMs: 3_000 };
    const { source, watch, held } = await served({ again });
    const begun: number[] = [];
    source.before = (kind) => {
      if (kind === 'watch') begun.push(performance.now());
    };
    watch();
    const pauses: number[] = [];
    for (const heldMs of [350, 350, 350, 350, 3_200]) {
      const each = await held();
      await sleep(heldMs);
      const cutAt = performance.now();
      each.end('closed');
      await expect.poll(() => source.watches.has(each), soon).toBe(false);
      await held();
      pauses.push(begun.at(-1)! - cutAt);
    }
    const [first, , third, fourth, last] = pauses;
    expect(first).toBeLessThan(800);
    expect(third).toBeGreaterThanOrEqual(800);
    expect(fourth).toBeGreaterThanOrEqual(1_600);
    expect(last).toBeLessThan(800);
  });

  it('looks for what a gap has hidden while reports wait for their pace', async () => {
    const never = { runs: 1, withinMs: 60_000 };
    const { watch, held, finish, reported } = await served({
      pace: { change: never, gap: { runs: 1, withinMs: 1_000 } },
    });
    watch();
    const first = await held();
    await expect.poll(reported, soon).toBe(1);
    await finish();
    first.change();
    await sleep(400);
    first.end('closed');
    await expect.poll(reported, soon).toBe(2);
  });

  it('leaves a change that was reported just before the end to the next watch beyond its pace', async () => {
    const pace = { ...quick.pace, change: { runs: 1, withinMs: 60_000 } };
    const { watch, held, finish, reported } = await served({ pace });
    const { end } = watch();
    const { change, end: close } = await held();
    await expect.poll(reported, soon).toBe(1);
    await finish();
    change();
    close('closed');
    await end;
    expect(await reported()).toBe(1);
  });

  it('has a run queued for a change that was reported just before the end', async () => {
    const { watch, held, finish, reported } = await served({ debounceMs: 5_000 });
    const { end } = watch();
    const { change, end: close } = await held();
    await finish();
    change();
    close('closed');
    await end;
    expect(await reported()).toBe(1);
  });

  it('gives a tenant a part of the places of a worker', async () => {
    const { watch, held } = await served();
    const first = watch();
    watch();
    await held(2);
    expect(await watch().end).toEqual({ is: 'crowded', wasHeld: false });
    first.stop();
    await expect(first.end).rejects.toThrow('stopped');
    await held(1);
    watch();
    await held(2);
    const places = new WatchPlaces(1);
    expect([places.take('a'), places.take('a'), places.take('b')]).toEqual([
      expect.any(Function),
      null,
      expect.any(Function),
    ]);
  });
});
