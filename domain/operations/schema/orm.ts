import { MikroORM, type Options } from '@mikro-orm/postgresql';
import { Migrator } from '@mikro-orm/migrations';
import type { Pool } from 'pg';
import { allEntities } from './all-entities.ts';
import { boundedClient, type ClientBounds } from '#domain/foundation/persistence/bounded-client.ts';
import { joinedBegin } from '#domain/foundation/persistence/joined-begin.ts';
import { sessionOptions } from '#domain/foundation/persistence/session-options.ts';
import { PostgresDriver } from '#domain/foundation/persistence/postgres-driver.ts';
import { Migration20261121000000 } from '#domain/operations/schema/migrations/Migration20261121000000.ts';
import { Migration20261123200000 } from '#domain/operations/schema/migrations/Migration20261123200000.ts';
import { Migration20261124000000 } from '#domain/operations/schema/migrations/Migration20261124000000.ts';
import { Migration20261124010000 } from '#domain/operations/schema/migrations/Migration20261124010000.ts';
import { Migration20261124040000 } from '#domain/operations/schema/migrations/Migration20261124040000.ts';
import { Migration20261124050000 } from '#domain/operations/schema/migrations/Migration20261124050000.ts';
import { Migration20261124060500 } from '#domain/operations/schema/migrations/Migration20261124060500.ts';
import { Migration20261124061500 } from '#domain/operations/schema/migrations/Migration20261124061500.ts';
import { Migration20261124070000 } from '#domain/operations/schema/migrations/Migration20261124070000.ts';
import { Migration20261124080000 } from '#domain/operations/schema/migrations/Migration20261124080000.ts';
import { Migration20261124083000 } from '#domain/operations/schema/migrations/Migration20261124083000.ts';
import { Migration20261124110000 } from '#domain/operations/schema/migrations/Migration20261124110000.ts';
import { Migration20261124120000 } from '#domain/operations/schema/migrations/Migration20261124120000.ts';
import { Migration20261125030000 } from '#domain/operations/schema/migrations/connections/Migration20261125030000.ts';
import { Migration20261125031000 } from '#domain/operations/schema/migrations/connections/Migration20261125031000.ts';
import { Migration20261125040000 } from '#domain/operations/schema/migrations/connections/Migration20261125040000.ts';
import { Migration20261126022000 } from '#domain/operations/schema/migrations/connections/Migration20261126022000.ts';
import { Migration20261125060000 } from '#domain/operations/schema/migrations/deletion/Migration20261125060000.ts';
import { Migration20261125070000 } from '#domain/operations/schema/migrations/tenant-deletion/Migration20261125070000.ts';
import { Migration20261125174500 } from '#domain/operations/schema/migrations/outbox/Migration20261125174500.ts';
import { Migration20261125190000 } from '#domain/operations/schema/migrations/scope-erasure/Migration20261125190000.ts';
import { Migration20261125190100 } from '#domain/operations/schema/migrations/scope-erasure/Migration20261125190100.ts';
import { Migration20261125191000 } from '#domain/operations/schema/migrations/tenant-deletion/Migration20261125191000.ts';
import { Migration20261126031500 } from '#domain/operations/schema/migrations/scope-erasure/Migration20261126031500.ts';
import { Migration20261126163000 } from '#domain/operations/schema/migrations/watches/Migration20261126163000.ts';
import { Migration20261127013000 } from '#domain/operations/schema/migrations/sync-runs/Migration20261127013000.ts';
import { Migration20261127021000 } from '#domain/operations/schema/migrations/source-documents/Migration20261127021000.ts';
import { Migration20261127060000 } from '#domain/operations/schema/migrations/vector-graphs/Migration20261127060000.ts';
import { Migration20261127063000 } from '#domain/operations/schema/migrations/connector-servers/Migration20261127063000.ts';
import { Migration20261127064500 } from '#domain/operations/schema/migrations/language-changes/Migration20261127064500.ts';
import { Migration20261127071500 } from '#domain/operations/schema/migrations/reranking/Migration20261127071500.ts';
import { Migration20261127081000 } from '#domain/operations/schema/migrations/source-documents/Migration20261127081000.ts';
import { Migration20261127082000 } from '#domain/operations/schema/migrations/sync-runs/Migration20261127082000.ts';
import { Migration20261127083000 } from '#domain/operations/schema/migrations/sync-runs/Migration20261127083000.ts';
import { Migration20261127100010 } from '#domain/operations/schema/migrations/api-keys/Migration20261127100010.ts';
import { Migration20261127100020 } from '#domain/operations/schema/migrations/sign-in/Migration20261127100020.ts';
import { Migration20261127110000 } from '#domain/operations/schema/migrations/invites/Migration20261127110000.ts';
import { Migration20261127120000 } from '#domain/operations/schema/migrations/sign-in/Migration20261127120000.ts';
import { Migration20261127120100 } from '#domain/operations/schema/migrations/source-documents/Migration20261127120100.ts';
import { Migration20261128200000 } from '#domain/operations/schema/migrations/sign-in/Migration20261128200000.ts';
import { Migration20261129180000 } from '#domain/operations/schema/migrations/vector-lists/Migration20261129180000.ts';
import { Migration20261130160000 } from '#domain/operations/schema/migrations/events/Migration20261130160000.ts';
import { Migration20261124020000 } from '#domain/operations/schema/migrations/Migration20261124020000.ts';

export interface OrmOptions extends ClientBounds {
  url: string;
  poolSize?: number;
}

export const migrationsList = [
  { name: 'Migration20261121000000', class: Migration20261121000000 },
  { name: 'Migration20261123200000', class: Migration20261123200000 },
  { name: 'Migration20261124000000', class: Migration20261124000000 },
  { name: 'Migration20261124010000', class: Migration20261124010000 },
  { name: 'Migration20261124020000', class: Migration20261124020000 },
  { name: 'Migration20261124040000', class: Migration20261124040000 },
  { name: 'Migration20261124050000', class: Migration20261124050000 },
  { name: 'Migration20261124060500', class: Migration20261124060500 },
  { name: 'Migration20261124061500', class: Migration20261124061500 },
  { name: 'Migration20261124070000', class: Migration20261124070000 },
  { name: 'Migration20261124080000', class: Migration20261124080000 },
  { name: 'Migration20261124083000', class: Migration20261124083000 },
  { name: 'Migration20261124110000', class: Migration20261124110000 },
  { name: 'Migration20261124120000', class: Migration20261124120000 },
  { name: 'Migration20261125030000', class: Migration20261125030000 },
  { name: 'Migration20261125031000', class: Migration20261125031000 },
  { name: 'Migration20261125040000', class: Migration20261125040000 },
  { name: 'Migration20261125060000', class: Migration20261125060000 },
  { name: 'Migration20261125070000', class: Migration20261125070000 },
  { name: 'Migration20261125174500', class: Migration20261125174500 },
  { name: 'Migration20261125190000', class: Migration20261125190000 },
  { name: 'Migration20261125190100', class: Migration20261125190100 },
  { name: 'Migration20261125191000', class: Migration20261125191000 },
  { name: 'Migration20261126022000', class: Migration20261126022000 },
  { name: 'Migration20261126031500', class: Migration20261126031500 },
  { name: 'Migration20261126163000', class: Migration20261126163000 },
  { name: 'Migration20261127013000', class: Migration20261127013000 },
  { name: 'Migration20261127021000', class: Migration20261127021000 },
  { name: 'Migration20261127060000', class: Migration20261127060000 },
  { name: 'Migration20261127063000', class: Migration20261127063000 },
  { name: 'Migration20261127064500', class: Migration20261127064500 },
  { name: 'Migration20261127071500', class: Migration20261127071500 },
  { name: 'Migration20261127081000', class: Migration20261127081000 },
  { name: 'Migration20261127082000', class: Migration20261127082000 },
  { name: 'Migration20261127083000', class: Migration20261127083000 },
  { name: 'Migration20261127100010', class: Migration20261127100010 },
  { name: 'Migration20261127100020', class: Migration20261127100020 },
  { name: 'Migration20261127110000', class: Migration20261127110000 },
  { name: 'Migration20261127120000', class: Migration20261127120000 },
  { name: 'Migration20261127120100', class: Migration20261127120100 },
  { name: 'Migration20261128200000', class: Migration20261128200000 },
  { name: 'Migration20261129180000', class: Migration20261129180000 },
  { name: 'Migration20261130160000', class: Migration20261130160000 },
];

/** The ORM of one process. The tenant filter is on everywhere: a query without a tenant throws. */
export function createOrm(options: OrmOptions): MikroORM {
  return new MikroORM(ormConfig(options));
}

export function ormConfig(options: OrmOptions): Options {
  return {
    driver: PostgresDriver,
    clientUrl: options.url,
    entities: allEntities,
    extensions: [Migrator],
    forceUtcTimezone: true,
    sessionContext: 'transaction',
    allowGlobalContext: false,
    pool: { min: 0, max: options.poolSize ?? 10 },
    driverOptions: {
      Client: joinedBegin(boundedClient(options)),
      onPoolCreated: (pool: Pool) => options.watch?.count(pool),
      // The ORM reads only server, login and database from the address; the driver also its parameters, like
      // `sslmode`.
      connectionString: options.url,
      connectionTimeoutMillis: 2_000,
      statement_timeout: options.statementTimeoutMs,
      lock_timeout: 2_000,
      idle_in_transaction_session_timeout: 5_000,
      options: sessionOptions,
      application_name: 'platform',
    },
    filters: {
      tenant: {
        name: 'tenant',
        cond: (args: { tenantId: string }) => ({ tenantId: args.tenantId }),
        default: true,
      },
    },
    logger: () => undefined,
    migrations: { migrationsList, snapshot: false, transactional: true, allOrNothing: true },
    schemaGenerator: { createForeignKeyConstraints: false },
  };
}
