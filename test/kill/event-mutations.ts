import { setTimeout as sleep } from 'node:timers/promises';
import { verifyChain, type Verification } from '#domain/events/verify-chain.ts';
import { createTestDatabase } from '../support/database.ts';
import { mulberry32 } from '../support/model-script.ts';
import { startStack } from '../support/stack.ts';
import { connect } from '../support/tables.ts';
import { createWorld, type World } from '../support/world.ts';
import { Fleet } from './fleet.ts';

export interface MutationRun {
  mutations: number;
  /** Requests whose outcome a kill hid from the client. */
  inDoubt: number;
  kills: { gateway: number; worker: number };
  /** What the model predicts and the log holds, where they differ. */
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

type Method = 'POST' | 'DELETE';

/** What one client knows to exist, and what must have been written about it. */
interface Known {
  collections: { id: string; documents: string[] }[];
  responses: string[];
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
    const { rows: written } = await admin.query<{ what: string }>(
      `select concat_ws(' ', event_type, resource_id, metadata ->> 'document_id') as what
       from events where tenant_id = $1 and id > $2 order by 1`,
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
  readonly expected: string[] = [];
  readonly #options: MutationOptions & { world: World; fleet: Fleet; random: () => number };
  #key = 0;

  constructor(options: MutationOptions & { world: World; fleet: Fleet; random: () => number }) {
    this.#options = options;
  }

  async all(): Promise<void> {
    await Promise.all(
      Array.from({ length: this.#options.clients }, async () => {
        const known: Known = { collections: [], responses: [] };
        while (this.done < this.#options.mutations) {
          await this.#mutate(known);
          this.done += 1;
        }
      }),
    );
  }

  async #mutate(known: Known): Promise<void> {
    const { random } = this.#options;
    const dice = random();
    const collection = pick(known.collections, random);
    if (collection === undefined || dice < 0.2) {
      const { id } = await this.#create('collections', { name: 'Harbours' });
      known.collections.push({ id, documents: [] });
      this.expected.push(`collection.created ${id}`);
    } else if (dice < 0.45) {
      const body = { filename: 'a.txt', media_type: 'text/plain', content: 'The beacon is blue.' };
      const { id } = await this.#create(`collections/${collection.id}/documents`, body);
      collection.documents.push(id);
      this.expected.push(`collection.documents_added ${collection.id} ${id}`);
    } else if (dice < 0.6 && collection.documents.length > 0) {
      const id = collection.documents.pop()!;
      await this.#remove(`collections/${collection.id}/documents/${id}`);
      this.expected.push(`collection.documents_deleted ${collection.id} ${id}`);
    } else if (dice < 0.7) {
      known.collections.splice(known.collections.indexOf(collection), 1);
      await this.#remove(`collections/${collection.id}`);
      this.expected.push(`collection.deleted ${collection.id}`);
    } else if (dice < 0.78) {
      const { id } = await this.#create('responses', { input: { text: 'Which colour is the beacon?' } });
      known.responses.push(id);
    } else if (dice < 0.85 && known.responses.length > 0) {
      // Whichever end it has, by its client or by its worker, is told of once.
      const [id] = known.responses.splice(Math.floor(random() * known.responses.length), 1);
      await this.#send('POST', `responses/${id}/cancel`, [200, 409]);
    } else {
      const { id } = await this.#create('collections', { name: 'Piers' });
      known.collections.push({ id, documents: [] });
      this.expected.push(`collection.created ${id}`);
    }
  }

  async #create(path: string, body: object): Promise<{ id: string }> {
    const answer = await this.#send('POST', path, [200, 201, 202], body);
    return (answer as { data?: { id: string } }).data ?? (answer as { id: string });
  }

  async #remove(path: string): Promise<void> {
    await this.#send('DELETE', path, [200]);
  }

  /** Repeats a request until somebody answers it, with the same key. */
  async #send(method: Method, path: string, good: readonly number[], body?: object): Promise<unknown> {
    const { fleet, world, random } = this.#options;
    const headers: Record<string, string> = { 'X-API-Key': world.apiKey };
    if (body !== undefined) {
      this.#key += 1;
      headers['Content-Type'] = 'application/json';
      headers['Idempotency-Key'] = `mutation-${this.#key}`;
    }
    let mayHaveHappened = false;
    for (;;) {
      const gateway = pick(fleet.ready('gateway'), random);
      if (gateway === undefined) {
        await sleep(50);
        continue;
      }
      try {
        const answer = await fetch(`${gateway.url}/api/v1/spaces/${world.spaceId}/${path}`, {
          method,
          headers,
          signal: AbortSignal.timeout(15_000),
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const text = await answer.text();
        if (good.includes(answer.status)) return text === '' ? {} : JSON.parse(text);
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

function pick<T>(list: readonly T[], random: () => number): T | undefined {
  return list[Math.floor(random() * list.length)];
}
