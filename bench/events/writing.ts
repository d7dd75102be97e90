import type { EntityManager } from '@mikro-orm/postgresql';
import { setTimeout as sleep } from 'node:timers/promises';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { Line } from '../support/report.ts';
import { median } from '../support/stats.ts';
import type { Log } from './log-lab.ts';
import type { EventScale } from './event-scale.ts';

const maxUnsealed = 10_000;

/**
 * A change with its event by `scale.writers` at once: `recordEvent` beside the plain insert of the same row,
 * while sealing runs as scheduled.
 */
export async function measureWriting(
  log: Log,
  scale: EventScale,
  say: (line: string) => void,
): Promise<Line[]> {
  const { tenantId, spaceId, owner } = log.world;
  const orm = createOrm({ url: log.database.url, statementTimeoutMs: 30_000, poolSize: scale.writers });
  const unitOfWork = new UnitOfWork(orm);
  const change = (em: EntityManager, id: string) =>
    em.execute('insert into collections (tenant_id, id, space_id, name, created_by) values (?, ?, ?, ?, ?)', [
      tenantId,
      id,
      spaceId,
      'Bench',
      owner.principalId,
    ]);
  const ours = async (em: EntityManager, id: string): Promise<void> => {
    await recordEvent(em, owner, {
      type: 'collection.created',
      resource: { type: 'collection', id },
      metadata: { space_id: spaceId },
    });
  };
  const metadata = JSON.stringify({
    outcome: 'success',
    actor_type: owner.principalType,
    via: 'cli',
    request_id: null,
    space_id: spaceId,
  });
  const { rows } = await log.admin.query<{ name: string | null }>(
    'select sealed_name as name from principals where id = $1',
    [owner.principalId],
  );
  const plain = async (em: EntityManager, id: string): Promise<void> => {
    await em.execute(
      `insert into events (tenant_id, category, event_type, resource_type, resource_id, metadata, actor_id, actor_name)
       values (?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        tenantId,
        'collection',
        'collection.created',
        'collection',
        id,
        metadata,
        owner.principalId,
        rows[0]?.name ?? null,
      ],
    );
  };
  const perSecond = async (write: typeof ours): Promise<number> => {
    const began = performance.now();
    let done = 0;
    await Promise.all(
      Array.from({ length: scale.writers }, async () => {
        while (performance.now() - began < scale.windowMs) {
          const id = newId();
          await unitOfWork.inTenant(tenantId, async (em) => {
            await change(em, id);
            await write(em, id);
          });
          done += 1;
        }
      }),
    );
    return done / ((performance.now() - began) / 1_000);
  };
  const tails: number[] = [];
  const sealed: number[] = [];
  const state = { ended: false };
  const sealing = (async () => {
    while (!state.ended) {
      await sleep(scale.sealEveryMs);
      tails.push(await unsealed(log));
      sealed.push(await log.seal());
    }
  })();
  try {
    await perSecond(ours);
    const rates: { ours: number[]; plain: number[] } = { ours: [], plain: [] };
    for (let round = 0; round < scale.rounds; round += 1) {
      for (const side of round % 2 === 0 ? (['ours', 'plain'] as const) : (['plain', 'ours'] as const)) {
        rates[side].push(await perSecond(side === 'ours' ? ours : plain));
      }
    }
    state.ended = true;
    await sealing;
    say(
      `sealing: up to ${Math.round(Math.max(...sealed))} events a second, tails before it ${tails.join(', ')}`,
    );
    return [
      {
        name: `event writes, ${scale.writers} writers`,
        ratios: rates.ours.map((value, round) => value / rates.plain[round]!),
        goal: 0.9,
        better: 'higher',
        ours: `${Math.round(median(rates.ours))} /s`,
        peer: `${Math.round(median(rates.plain))} /s`,
      },
      {
        name: 'longest unsealed tail',
        ratios: [Math.max(...tails) / maxUnsealed],
        goal: 1,
        better: 'lower',
        ours: `${Math.max(...tails)} events`,
        peer: `${maxUnsealed} events`,
      },
    ];
  } finally {
    state.ended = true;
    await sealing.catch(() => undefined);
    await orm.close(true);
  }
}

async function unsealed({ admin, world }: Log): Promise<number> {
  const { rows } = await admin.query<{ n: number }>(
    `select count(*)::integer as n from events e, event_chains c where e.tenant_id = $1 and c.tenant_id = $1
       and (e.transaction_id, e.id) > (c.last_transaction_id, c.last_event_id)`,
    [world.tenantId],
  );
  return rows[0]?.n ?? 0;
}
