import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { recordEvent } from '#domain/foundation/events/record-event.ts';
import type { TestDatabase } from '../support/database.ts';
import type { Notifiable } from './delivery-kinds.ts';

/** Connections that record events at once. */
const writers = 6;

/** The events of a run in the log of their tenant, and the number of those fully delivered. */
export class DeliveryLog {
  readonly recorded: Record<string, number> = {};
  readonly #database: TestDatabase;
  readonly #tenantId: string;
  readonly #deliveries: readonly Notifiable[];
  #committed = 0;

  constructor(database: TestDatabase, tenantId: string, deliveries: readonly Notifiable[]) {
    this.#database = database;
    this.#tenantId = tenantId;
    this.#deliveries = deliveries;
  }

  /** Each in a transaction of its own, several at once, with its number as a marker. */
  async recordAll(): Promise<void> {
    const waiting = this.#deliveries.entries();
    await Promise.all(
      Array.from({ length: writers }, async () => {
        for (const [mark, delivery] of waiting) await this.#record(mark, delivery);
      }),
    );
  }

  async #record(mark: number, { event, actor, via }: Notifiable): Promise<void> {
    const who = {
      tenantId: this.#tenantId,
      principalId: actor.id,
      principalType: 'user',
      origin: { via, requestId: null },
    } as const;
    await this.#database.unitOfWork.inTenant(this.#tenantId, (em) =>
      recordEvent(em, who, { ...event, metadata: { ...event.metadata, mark } }),
    );
    this.#committed += 1;
    this.recorded[event.type] = (this.recorded[event.type] ?? 0) + 1;
  }

  /** Events that are in the log and fully delivered. */
  async delivered(admin: Client): Promise<number> {
    const committed = this.#committed;
    const { rows } = await admin.query<{ count: number }>(
      'select count(*)::int as count from fan_outs where tenant_id = $1',
      [this.#tenantId],
    );
    return committed - rows[0]!.count;
  }

  /** @throws when no event is delivered any more, though some are pending */
  async untilDelivered(admin: Client, wanted: number = this.#deliveries.length): Promise<void> {
    for (let [before, waitedMs] = [-1, 0]; ; waitedMs += 50) {
      const now = await this.delivered(admin);
      if (now >= wanted) return;
      if (now !== before) [before, waitedMs] = [now, 0];
      if (waitedMs > 60_000) throw new Error(`${wanted - now} events were not told to the end.`);
      await sleep(50);
    }
  }
}
