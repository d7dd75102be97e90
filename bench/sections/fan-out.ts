import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Pool } from 'pg';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { addUsers } from '#test/support/notification-world.ts';
import type { Lab } from '../support/lab.ts';
import { format, type Line } from '../support/report.ts';
import { median } from '../support/stats.ts';

export interface FanOutScale {
  recipients: readonly number[];
  /** Rows that are written one by one, for their rate. */
  jobs: number;
  rounds: number;
}

/** A space with so many users as its members, and what the event is about. */
interface Hall {
  spaceId: string;
  projectId: string;
  users: string[];
}

/**
 * An event for all members of a space who may read its projects: the largest audience, with a permission
 * check.
 */
const eventType = 'space.project_deleted';
const written = `insert into notifications (tenant_id, event_id, user_id, category, event_type, resource_type, resource_id, title, body)`;
const values = `'space', '${eventType}', 'project', $3::uuid::text, 'A project of the space Hall was deleted',
  'Its threads stay where they are.'`;

/** Ours, one statement for all, and one row per job, each with the same rows, indexes and constraints. */
export async function measureFanOut(
  lab: Lab,
  scale: FanOutScale,
  say: (line: string) => void,
): Promise<Line[]> {
  const admin = new Client({ connectionString: lab.postgres.adminUrl });
  await admin.connect();
  const lines: Line[] = [];
  try {
    for (const count of scale.recipients) {
      const hall = await openHall(lab, admin, count);
      const rates = { ours: [] as number[], floor: [] as number[], jobs: [] as number[] };
      const sides = {
        ours: async () => (await fanOut(lab, admin, hall)).seconds,
        floor: () => oneStatement(lab, admin, hall),
      };
      // Warms up plans and code on both sides.
      for (const run of Object.values(sides)) await run();
      for (let round = 0; round < scale.rounds; round += 1) {
        // The order alternates, so that a drift of the machine favours neither side.
        const order = round % 2 === 0 ? (['ours', 'floor'] as const) : (['floor', 'ours'] as const);
        for (const side of order) {
          await prepare(admin);
          rates[side].push(count / (await sides[side]()));
        }
      }
      // After the pairs: a measurement right after ten thousand commits pays for them.
      for (let round = 0; round < scale.rounds; round += 1) {
        await prepare(admin);
        rates.jobs.push(await rowByRow(lab, hall, Math.min(scale.jobs, count)));
      }
      const ours = `${format(median(rates.ours))} rows/s`;
      say(`${count} recipients: ${ours}`);
      lines.push(
        {
          name: `${count} recipients, to one insert … select`,
          ratios: rates.ours.map((rate, i) => rate / rates.floor[i]!),
          goal: 0.7,
          better: 'higher',
          ours,
          peer: `${format(median(rates.floor))} rows/s`,
        },
        {
          name: `${count} recipients, to one row per job`,
          ratios: rates.ours.map((rate, i) => rate / rates.jobs[i]!),
          goal: 10,
          better: 'higher',
          ours,
          peer: `${format(median(rates.jobs))} rows/s`,
        },
      );
    }
    return lines;
  } finally {
    await admin.end();
  }
}

/**
 * The largest fan-out once more, with its worker killed in the middle.
 * @returns the result, as text
 */
export async function measureKilled(lab: Lab, scale: FanOutScale): Promise<string> {
  const admin = new Client({ connectionString: lab.postgres.adminUrl });
  await admin.connect();
  try {
    const count = scale.recipients.at(-1)!;
    const hall = await openHall(lab, admin, count);
    await lab.addWorker();
    await prepare(admin);
    let atKill = 0;
    const { seconds } = await fanOut(lab, admin, hall, async (eventId) => {
      do {
        await sleep(5);
        atKill = await deliveredOf(admin, eventId);
      } while (atKill === 0);
      lab.worker.signal('SIGKILL');
    });
    return `${count} recipients with the worker killed after ${atKill}: all told once, after ${format(seconds)} s`;
  } finally {
    await admin.end();
  }
}

async function openHall({ world }: Lab, admin: Client, count: number): Promise<Hall> {
  const spaceId = newId();
  await admin.query(`insert into spaces (tenant_id, id, name) values ($1, $2, 'Hall')`, [
    world.tenantId,
    spaceId,
  ]);
  const users = await addUsers(admin, { tenantId: world.tenantId, spaceId }, { count });
  await admin.query('analyze principals, space_members');
  return { spaceId, projectId: newId(), users };
}

async function prepare(admin: Client): Promise<void> {
  await admin.query('truncate notifications');
  await admin.query('checkpoint');
}

/**
 * From the start of the workflow to its result.
 * @throws unless every recipient is notified once and counts one unread
 */
async function fanOut(
  lab: Lab,
  admin: Client,
  { spaceId, projectId, users }: Hall,
  meanwhile: (eventId: string) => Promise<void> = async () => {},
): Promise<{ seconds: number }> {
  const { tenantId } = lab.world;
  const eventId = newId();
  await admin.query(
    `insert into events (tenant_id, id, category, event_type, resource_type, resource_id, metadata)
     values ($1, $2, 'space', $3, 'project', $4, $5)`,
    [tenantId, eventId, eventType, projectId, { via: 'api', space_id: spaceId }],
  );
  const startedAt = performance.now();
  const handle = await lab.temporal.client.workflow.start('fanOutEvent', {
    workflowId: workflowIdOf('fanOutEvent', { tenantId, eventId }),
    taskQueue: 'batch',
    workflowTaskTimeout: '2s',
    args: [{ tenantId, eventId, eventType }],
  });
  await meanwhile(eventId);
  await handle.result();
  const seconds = (performance.now() - startedAt) / 1_000;
  await assertCounted(admin, eventId, users.length);
  return { seconds };
}

async function oneStatement(lab: Lab, admin: Client, { spaceId, projectId, users }: Hall): Promise<number> {
  const eventId = newId();
  await admin.query('begin');
  await admin.query('set local role app_rt');
  await admin.query(`select set_config('app.tenant_id', $1, true)`, [lab.world.tenantId]);
  const startedAt = performance.now();
  await admin.query(
    `${written} select m.tenant_id, $2::uuid, m.principal_id, ${values}
       from space_members m where m.tenant_id = $1 and m.space_id = $4 on conflict do nothing`,
    [lab.world.tenantId, eventId, projectId, spaceId],
  );
  await admin.query('commit');
  const seconds = (performance.now() - startedAt) / 1_000;
  await assertCounted(admin, eventId, users.length);
  return seconds;
}

/**
 * Sixteen workers that each take the next user and write one row: the cost of a job per user without its
 * queue.
 */
async function rowByRow(lab: Lab, { projectId, users }: Hall, jobs: number): Promise<number> {
  const pool = new Pool({ connectionString: lab.postgres.adminUrl, max: 16 });
  const eventId = newId();
  let next = 0;
  const work = async () => {
    while (next < jobs) {
      const user = users[next];
      next += 1;
      await pool.query({
        name: 'row',
        text: `${written} values ($1, $2, $4, ${values}) on conflict do nothing`,
        values: [lab.world.tenantId, eventId, projectId, user],
      });
    }
  };
  try {
    await Promise.all(Array.from({ length: 16 }, () => pool.query('select 1')));
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: 16 }, work));
    return (jobs * 1_000) / (performance.now() - startedAt);
  } finally {
    await pool.end();
  }
}

async function deliveredOf(admin: Client, eventId: string): Promise<number> {
  return (await admin.query('select from notifications where event_id = $1', [eventId])).rowCount ?? 0;
}

/**
 * @throws unless exactly so many users are notified of the event, each with it as the only unread
 * notification
 */
async function assertCounted(admin: Client, eventId: string, expected: number): Promise<void> {
  const { rows } = await admin.query<{ users: number; unread: number }>(
    `select count(*)::int as users, count(*) filter (where n.unread >= 1)::int as unread
       from (select user_id, count(*) filter (where read_at is null) as unread from notifications
             where event_id = $1 group by user_id having count(*) = 1) n`,
    [eventId],
  );
  const { users = 0, unread = 0 } = rows[0] ?? {};
  if (users !== expected || unread !== expected)
    throw new Error(`${expected} were to be told, ${users} were told once and ${unread} count it as unread.`);
}
