import type { MikroORM } from '@mikro-orm/postgresql';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { TestDatabase } from './database.ts';

/** Works as app_purge, as upkeep does. */
export class Purge extends UnitOfWork {
  readonly #orm: MikroORM;

  constructor({ purgeUrl }: Pick<TestDatabase, 'purgeUrl'>) {
    const orm = createOrm({ url: purgeUrl, statementTimeoutMs: 30_000 });
    super(orm);
    this.#orm = orm;
  }

  close(): Promise<void> {
    return this.#orm.close(true);
  }
}
