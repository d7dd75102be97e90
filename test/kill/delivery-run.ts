import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { pageSize } from '#activities/notifications/deliver-notifications.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { mulberry32 } from '../support/model-script.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { connect } from '../support/tables.ts';
import { createWorld } from '../support/world.ts';
import { Fleet } from './fleet.ts';
import { inMidDelivery, type DeliveryField } from './mid-delivery.ts';
import { deliveriesOf } from './delivery-kinds.ts';
import { DeliveryLog } from './delivery-log.ts';
import { createAudience, type Town } from './notified-people.ts';
import { compareDelivered, countPartial, type DeliveryRun } from './delivery-verdict.ts';

export interface DeliveryOptions {
  seed: number;
  events: number;
  kills: number;
  say: (line: string) => void;
}

/**
 * Events of many audiences, recorded as use cases record them while workers deliver them and are killed; then
 * the notified users of each are compared with the model.
 */
export async function runDelivery(options: DeliveryOptions): Promise<DeliveryRun> {
  const database = await createTestDatabase();
  try {
    return await runOn(database, options);
  } finally {
    await database.drop();
  }
}

async function runOn(database: TestDatabase, options: DeliveryOptions): Promise<DeliveryRun> {
  const startedAt = performance.now();
  const random = mulberry32(options.seed);
  const { tenantId } = await createWorld(database.unitOfWork);
  const settled = new AbortController();
  let passing = Promise.resolve();
  let stack: Stack | undefined;
  const admin = await connect(database.adminUrl);
  try {
    const town = await createAudience(admin, { tenantId, hallSize: 3 * pageSize + 250 });
    const deliveries = deliveriesOf(town, random, options.events);
    stack = await startStack({
      database,
      gateways: 0,
      workers: 2,
      // As in production: each round queries Temporal for all waiting fan-outs, which here are thousands.
      env: { SWEEP_INTERVAL_SECONDS: '20' },
    });
    passing = passBy(admin, { tenantId, town, random: mulberry32(options.seed + 1) }, settled.signal);
    // Its failure is reported when it is awaited.
    passing.catch(() => undefined);
    const log = new DeliveryLog(database, tenantId, deliveries);
    const fleet = new Fleet(stack);
    const field = { temporal: stack.temporal, adminUrl: database.adminUrl, tenantId };
    const [kills] = await Promise.all([
      kill(fleet, { ...options, random, log, admin, field }),
      log.recordAll(),
    ]);
    await log.untilDelivered(admin);
    settled.abort();
    await passing;
    return {
      ...(await compareDelivered(admin, tenantId, deliveries)),
      events: deliveries.length,
      wide: deliveries.filter(({ notified }) => notified.size > 2 * pageSize).length,
      recorded: log.recorded,
      kills,
      failures: fleet.failures.map(({ message }) => message),
      cutOff: await countPartial(stack.temporal),
      seconds: Math.round((performance.now() - startedAt) / 1_000),
    };
  } finally {
    settled.abort();
    await passing.catch(() => undefined);
    await stack?.stop();
    await admin.end();
  }
}

/** Each kill when its share has been delivered, and a random moment later; the first in mid-delivery. */
async function kill(
  fleet: Fleet,
  {
    events,
    kills,
    random,
    log,
    admin,
    field,
    say,
  }: DeliveryOptions & { random: () => number; log: DeliveryLog; admin: Client; field: DeliveryField },
): Promise<(NodeJS.Signals | null)[]> {
  const ends: (NodeJS.Signals | null)[] = [];
  for (let i = 1; i <= kills; i += 1) {
    const due = (events * (i - random())) / (kills + 1);
    await log.untilDelivered(admin, due);
    await fleet.untilReady('worker', 1);
    await sleep(random() * 200);
    const ready = fleet.ready('worker');
    ends.push(
      i === 1
        ? await inMidDelivery(field, ready, (worker) => fleet.kill(worker))
        : await fleet.kill(ready[Math.floor(random() * ready.length)]!),
    );
    say(`${await log.delivered(admin)} events delivered, ${i} kills`);
  }
  await fleet.settle();
  return ends;
}

/** Service accounts, which are never notified, join and leave the hall until the end. */
async function passBy(
  admin: Client,
  { tenantId, town, random }: { tenantId: string; town: Town; random: () => number },
  until: AbortSignal,
): Promise<void> {
  while (!until.aborted) {
    const some = town.passersBy.filter(() => random() < 0.2);
    await admin.query(
      `with gone as (delete from space_members where tenant_id = $1 and space_id = $2 and principal_id = any ($3)
         returning principal_id)
       insert into space_members (tenant_id, space_id, principal_id, role_key)
       select $1, $2, id, 'space_admin' from unnest($3::uuid[]) id where id not in (select principal_id from gone)
       on conflict do nothing`,
      [tenantId, town.hall.spaceId, some],
    );
    await sleep(40);
  }
}
