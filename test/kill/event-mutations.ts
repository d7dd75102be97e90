import { setTimeout as sleep } from 'node:timers/promises';
import { verifyChain, type Verification } from '#domain/foundation/events/verify-chain.ts';
import { createTestDatabase } from '../support/database.ts';
import { mulberry32 } from '../support/model-script.ts';
import { startStack } from '../support/stack.ts';
import { connect } from '../support/tables.ts';
import { createWorld, type World } from '../support/world.ts';
import { Fleet } from './fleet.ts';
import { mutate, nothingKnown, notified, type Client, type MutationRequest } from './mutation-kinds.ts';

export interface MutationRun {
  mutations: number;
  /** The number of each kind. */
  made: Record<string, number>;
  /** Requests whose outcome a kill hid from the client. */
  inDoubt: number;
  kills: { gateway: number; worker: number };
  /** Differences between the model's prediction and the log. */
  wrong: string[];
  events: number;
  verification: Verification;
}

export interface MutationOptions {
  seed: number;
  mutations: number;
  kills: number;
  clients: number;
  say: (line: string) => void;
}

/**
 * Random mutations by several clients, each repeated until it is answered, while gateways and workers are
 * killed; then every event of the tenant is compared with what the acknowledged mutations say.
 */
export async function runMutations(options: MutationOptions): Promise<MutationRun> {
  const random = mulberry32(options.seed);
  const database = await createTestDatabase();
  const world = await createWorld(database.unitOfWork);
  const admin = await connect(database.adminUrl);
  const stack = await startStack({
    database,
    gateways: 2,
    workers: 2,
    env: { MAX_ACTIVE_RESPONSES_PER_SPACE: '1000', SEAL_INTERVAL_SECONDS: '1' },
  });
  try {
    const { rows: before } = await admin.query<{ id: string }>(
      'select max(id::text) as id from events where tenant_id = $1',
      [world.tenantId],
    );
    const fleet = new Fleet(stack);
    const run = new Mutations({ ...options, world, fleet, random });
    const kills = { gateway: 0, worker: 0 };
    const killing = (async () => {
      for (let i = 1; i <= options.kills; i += 1) {
        const due = (options.mutations * i) / (options.kills + 1);
        while (run.done < due) await sleep(20);
        const role = i % 2 === 0 ? 'worker' : 'gateway';
        await fleet.untilReady(role, 2);
        const ready = fleet.ready(role);
        await fleet.kill(ready[Math.floor(random() * ready.length)]!);
        kills[role] += 1;
        options.say(`${run.done} mutations, ${i} kills`);
      }
    })();
    await Promise.all([run.all(), killing]);
    await fleet.settle();
    const ended = async () => {
      const { rows } = await admin.query<{ open: number; unsealed: number }>(
        `select (select count(*)::integer from responses where tenant_id = $1 and finished_at is null) as open,
           (select count(*)::integer from events e left join event_chains c using (tenant_id) where e.tenant_id = $1
             and (e.transaction_id, e.id) > (coalesce(c.last_transaction_id, '0'), c.last_event_id)) as unsealed`,
        [world.tenantId],
      );
      return rows[0]!.open === 0 && rows[0]!.unsealed === 0;
    };
    for (let waitedMs = 0; !(await ended()); waitedMs += 200) {
      if (waitedMs > 300_000) throw new Error('Not everything ended and was sealed in time.');
      await sleep(200);
    }
    // The erasure of what was deleted may end after the run.
    const { rows: written } = await admin.query<{ what: string }>(
      `select ${notified} as what from events where tenant_id = $1 and id > $2
         and event_type not like '%erased' order by 1`,
      [world.tenantId, before[0]!.id],
    );
    const { rows: statuses } = await admin.query<{ what: string }>(
      `select concat_ws(' ', 'space.response_' || status, id) as what from responses where tenant_id = $1`,
      [world.tenantId],
    );
    const expected = [...run.expected, ...statuses.map(({ what }) => what)].sort();
    const found = written.map(({ what }) => what).sort();
    const ask = async <Row extends object>(text: string, values: unknown[]) =>
      (await admin.query<Row>(text, values)).rows;
    return {
      mutations: run.done,
      made: run.made,
      inDoubt: run.inDoubt,
      kills,
      wrong: differences(expected, found),
      events: found.length,
      verification: await verifyChain(ask, world.tenantId, { anchors: [], retentionDays: 365 }),
    };
  } finally {
    await stack.stop();
    await admin.end();
    await database.drop();
  }
}

function differences(expected: readonly string[], found: readonly string[]): string[] {
  const counts = new Map<string, number>();
  expected.forEach((what) => counts.set(what, (counts.get(what) ?? 0) + 1));
  found.forEach((what) => counts.set(what, (counts.get(what) ?? 0) - 1));
  return [...counts].flatMap(([what, n]) => (n === 0 ? [] : [`${n > 0 ? 'missing' : 'too many'}: ${what}`]));
}

class Mutations {
  done = 0;
  inDoubt = 0;
  readonly made: Record<string, number> = {};
  readonly expected: string[] = [];
  readonly #options: MutationOptions & { world: World; fleet: Fleet; random: () => number };
  #words = 0;

  constructor(options: MutationOptions & { world: World; fleet: Fleet; random: () => number }) {
    this.#options = options;
  }

  async all(): Promise<void> {
    await Promise.all(
      Array.from({ length: this.#options.clients }, async () => {
        const client = this.#client();
        while (this.done < this.#options.mutations) {
          const kind = await mutate(client);
          this.made[kind] = (this.made[kind] ?? 0) + 1;
          this.done += 1;
        }
      }),
    );
  }

  #client(): Client {
    const { world, random } = this.#options;
    return {
      spaceId: world.spaceId,
      known: nothingKnown(),
      random,
      word: () => this.#word(),
      send: (request) => this.#send(request),
      expect: (...parts) => this.expected.push(parts.join(' ')),
    };
  }

  #word(): string {
    this.#words += 1;
    return `mutation_${this.#words}`;
  }

  /** Repeats a request with the same key until a gateway answers it. */
  async #send({ method, path, body, alsoGood }: MutationRequest): Promise<Record<string, string>> {
    const { fleet, world, random } = this.#options;
    const headers: Record<string, string> = { 'X-API-Key': world.apiKey };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    if (method === 'POST' && body !== undefined) headers['Idempotency-Key'] = this.#word();
    let mayHaveHappened = false;
    for (;;) {
      const gateway = pick(fleet.ready('gateway'), random);
      if (gateway === undefined) {
        await sleep(50);
        continue;
      }
      try {
        const answer = await fetch(`${gateway.url}/api/v1/${path}`, {
          method,
          headers,
          signal: AbortSignal.timeout(15_000),
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const text = await answer.text();
        if (answer.ok || answer.status === alsoGood) return thingOf(text);
        if (answer.status === 404 && method === 'DELETE' && mayHaveHappened) return {};
        if (answer.status !== 503 && answer.status !== 409) {
          throw new Refused(`${method} ${path} answered ${answer.status}: ${text}`);
        }
      } catch (error) {
        if (error instanceof Refused) throw error;
        mayHaveHappened = true;
        this.inDoubt += 1;
      }
      await sleep(50);
    }
  }
}

class Refused extends Error {}

function thingOf(text: string): Record<string, string> {
  const answer = (text === '' ? {} : JSON.parse(text)) as { data?: Record<string, string> };
  return answer.data ?? (answer as Record<string, string>);
}

function pick<T>(list: readonly T[], random: () => number): T | undefined {
  return list[Math.floor(random() * list.length)];
}
