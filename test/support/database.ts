import { randomBytes } from 'node:crypto';
import type { MikroORM } from '@mikro-orm/postgresql';
import { inject } from 'vitest';
import { Database } from '#domain/foundation/persistence/database.ts';
import type { Dispatcher } from '#domain/foundation/durable/dispatcher.ts';
import type { Dispatch } from '#domain/foundation/durable/messages.ts';
import { sendAfterCommit } from '#domain/foundation/durable/send-after-commit.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { createDatabase, dropDatabase } from './database-admin.ts';
import { databaseUrl, withRole } from './database-urls.ts';
import type { ProvidedPostgres } from './provided.ts';
import { release } from './release.ts';

export interface TestDatabase {
  name: string;
  /** The superuser's: for arranging and for reads without row-level security. */
  adminUrl: string;
  /** As app_rt, the role that the gateway and the worker use. */
  url: string;
  /** As app_purge. */
  purgeUrl: string;
  /** As app_verifier. */
  verifierUrl: string;
  /** These three work as app_rt. */
  database: Database;
  orm: MikroORM;
  unitOfWork: UnitOfWork;
  /** What `unitOfWork` would have sent to Temporal after its commits; it stays in the outbox. */
  dispatches: Dispatch[];
  /** Closes the pools and removes the database. */
  drop(): Promise<void>;
}

const STATEMENT_TIMEOUT_MS = 10_000;

/** A fresh, migrated and empty database, on the run's server unless another is given; it takes about 50 ms. */
export async function createTestDatabase(
  server: ProvidedPostgres = inject('postgres'),
): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await createDatabase(server.adminUrl, { name, template: server.templateDatabase });
  const adminUrl = databaseUrl(server.adminUrl, name);
  const url = withRole(adminUrl, 'app_rt', server.rolePassword);
  const purgeUrl = withRole(adminUrl, 'app_purge', server.rolePassword);
  const database = new Database({ url, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
  const orm = createOrm({ url, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
  const dispatches: Dispatch[] = [];
  const created: TestDatabase = {
    name,
    adminUrl,
    url,
    purgeUrl,
    verifierUrl: withRole(adminUrl, 'app_verifier', server.rolePassword),
    database,
    orm,
    unitOfWork: new UnitOfWork(orm, sendAfterCommit(saveIn(dispatches))),
    dispatches,
    async drop() {
      await Promise.all([database.close(), orm.close(true)]);
      await dropDatabase(server.adminUrl, name);
      release(created);
    },
  };
  return created;
}

/** A dispatcher that records rows instead of sending them, and treats each as acknowledged by Temporal. */
export function saveIn(rows: Dispatch[]): Dispatcher {
  return {
    dispatch: async (row) => {
      rows.push(row);
      return true;
    },
  };
}
