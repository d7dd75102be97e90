import type { EntityManager, MikroORM } from '@mikro-orm/postgresql';
import { FairSemaphore } from '#domain/foundation/kernel/fair-semaphore.ts';

/** Share of a pool's connections that no single tenant may hold: another tenant's transaction begins at once. */
const reservedForOthers = 0.2;
/** A waiting caller holds no connection: hundreds of concurrent calls are served one after the other. */
const waitMs = 10_000;

/** Called at the beginning of each transaction and after its commit; not after a rollback. */
export interface TransactionHook {
  begun(em: EntityManager): void;
  committed(em: EntityManager): void;
}

/** One transaction of one tenant: the ORM filter and the database session both carry the tenant. */
export class UnitOfWork {
  readonly #orm: MikroORM;
  readonly #connections: FairSemaphore;
  readonly #hook: TransactionHook | null;

  constructor(orm: MikroORM, hook: TransactionHook | null = null) {
    this.#orm = orm;
    this.#hook = hook;
    const slots = orm.config.get('pool').max ?? 1;
    const slotsPerKey = Math.max(1, slots - Math.max(1, Math.floor(slots * reservedForOthers)));
    this.#connections = new FairSemaphore({ slots, slotsPerKey, waitersPerKey: Infinity, waitMs });
  }

  /** @throws `TooBusy` when the tenant, or all tenants together, hold the connections for too long */
  async inTenant<T>(tenantId: string, work: (em: EntityManager) => Promise<T>): Promise<T> {
    const em = this.#orm.em.fork({ session: { variables: { 'app.tenant_id': tenantId } } });
    em.setFilterParams('tenant', { tenantId });
    const { result, inside } = await this.#connections.run(tenantId, undefined, () =>
      em.transactional(async (inside) => {
        this.#hook?.begun(inside);
        return { result: await work(inside), inside };
      }),
    );
    this.#hook?.committed(inside);
    return result;
  }

  /** For maintenance that touches no tenant's rows: without a tenant, row-level security shows none. */
  async acrossTenants<T>(work: (em: EntityManager) => Promise<T>): Promise<T> {
    return work(this.#orm.em.fork());
  }
}
