import type { EntityManager, MikroORM } from '@mikro-orm/postgresql';

/** One transaction of one tenant: the ORM filter and the database session both carry the tenant. */
export class UnitOfWork {
  readonly #orm: MikroORM;

  constructor(orm: MikroORM) {
    this.#orm = orm;
  }

  async inTenant<T>(tenantId: string, work: (em: EntityManager) => Promise<T>): Promise<T> {
    const em = this.#orm.em.fork({ session: { variables: { 'app.tenant_id': tenantId } } });
    em.setFilterParams('tenant', { tenantId });
    return em.transactional(work);
  }

  /** For upkeep that touches no tenant's rows: without a tenant, row-level security shows none. */
  async acrossTenants<T>(work: (em: EntityManager) => Promise<T>): Promise<T> {
    return work(this.#orm.em.fork());
  }
}
