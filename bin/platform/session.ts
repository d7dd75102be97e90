import { z } from 'zod';
import { parseConfig } from '#domain/foundation/kernel/config.ts';
import { Secrets } from '#domain/foundation/kernel/secrets.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';

const environment = z.object({ DATABASE_URL: z.url(), MASTER_KEY: z.string() });

export interface Session {
  unitOfWork: UnitOfWork;
  database: Database;
  secrets: Secrets;
}

/** Opens the database, under row-level security, for one command. */
export async function withSession<T>(work: (session: Session) => Promise<T>): Promise<T> {
  const env = parseConfig(environment, process.env);
  const options = { url: env.DATABASE_URL, statementTimeoutMs: 30_000, poolSize: 2 };
  const database = new Database(options);
  const orm = createOrm(options);
  try {
    await database.assertRestrictedRole();
    return await work({ unitOfWork: new UnitOfWork(orm), database, secrets: new Secrets(env.MASTER_KEY) });
  } finally {
    await Promise.allSettled([orm.close(true), database.close()]);
  }
}

/** One JSON line for programs, `name: value` lines for people. */
export function print(record: Record<string, string | number | boolean>, json: boolean | undefined): void {
  if (json === true) {
    console.log(JSON.stringify(record));
    return;
  }
  for (const [name, value] of Object.entries(record)) {
    console.log(`${name}: ${value}`);
  }
}
