import type { WorkerConfig } from '#domain/foundation/kernel/config.ts';
import type { ConnectionWatch } from '#domain/foundation/persistence/connection-watch.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { ensureRestrictedRole } from '#domain/foundation/persistence/ensure-restricted-role.ts';
import { erasureDatabase } from '#domain/operations/erasure/erasure-database.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';

/** For interactive work: a hanging call blocks it for little longer than this timeout. */
const promptly = { statementTimeoutMs: 5_000 };
/** For sweeps, which read all rows. */
const patiently = { statementTimeoutMs: 30_000 };

/** The pools of a worker. Those of upkeep are its own, so that sweeps and responses never wait for each other. */
export interface WorkerDatabases {
  database: Database;
  orm: ReturnType<typeof createOrm>;
  upkeepDatabase: Database;
  upkeepOrm: ReturnType<typeof createOrm>;
  /** Of the login that purges. */
  purgeOrm: ReturnType<typeof createOrm>;
  erasureBatches: ReturnType<typeof erasureDatabase>;
  close(): Promise<void>;
}

/** @throws when the login bypasses row-level security, which is checked before the first use of a pool */
export async function openDatabases(config: WorkerConfig, watch: ConnectionWatch): Promise<WorkerDatabases> {
  const { DATABASE_URL: url, DATABASE_PURGE_URL: purgeUrl } = config;
  const database = new Database({ url, ...promptly, watch, poolSize: 12 });
  await ensureRestrictedRole(database);
  const orm = createOrm({ url, ...promptly, watch, poolSize: 12 });
  const upkeepDatabase = new Database({ url, ...patiently, watch, poolSize: 2 });
  const upkeepOrm = createOrm({ url, ...patiently, watch, poolSize: 3 });
  const purgeOrm = createOrm({ url: purgeUrl, ...patiently, watch, poolSize: 4 });
  const erasureBatches = erasureDatabase(purgeUrl, watch);
  return {
    database,
    orm,
    upkeepDatabase,
    upkeepOrm,
    purgeOrm,
    erasureBatches,
    close: async () => {
      await Promise.allSettled([
        orm.close(true),
        upkeepOrm.close(true),
        purgeOrm.close(true),
        erasureBatches.close(),
        database.close(),
        upkeepDatabase.close(),
      ]);
    },
  };
}
