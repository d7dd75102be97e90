import type { SourceParts } from '#domain/capabilities/connections/connection-parts.ts';
import { revokeWithdrawn } from '#domain/capabilities/connections/revoke-withdrawn.ts';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { RowFailures } from '#domain/foundation/persistence/row-failures.ts';

type Dependencies = SourceParts & { database: Database };

/** See `Round` and `Sweep` of domain/operations/maintenance. */
interface Round {
  readonly place: readonly string[] | null;
  mayGoOn(): boolean;
  reached(place: readonly string[]): void;
}

interface Row {
  tenant_id: string;
  connection_id: string;
}

const pageSize = 200;
/** Tenants whose authorization servers are asked at once: none waits long for those of another. */
const lanes = 8;
/** For the connections of one tenant in a round. */
const tenantMs = 10_000;

const list = (database: Database, after: readonly string[], limit: number) =>
  database.call<Row>('list_ended_connections', 'select * from app.list_ended_connections($1, $2, $3)', [
    ...after,
    limit,
  ]);

/** Connections that have ended, or whose server, mode or person is gone: their tokens are revoked and erased. */
export const revokeConnections = {
  isDue: async ({ database }: Dependencies) => (await list(database, [nilUuid, nilUuid], 1)).length > 0,
  async run(deps: Dependencies, round: Round) {
    const failures = new RowFailures();
    let place: readonly string[] = round.place ?? [nilUuid, nilUuid];
    let done = 0;
    for (;;) {
      const rows = await list(deps.database, place, pageSize);
      const tenants = [...Map.groupBy(rows, (row) => row.tenant_id).values()];
      for (let first = 0; first < tenants.length; first += lanes) {
        const together = tenants.slice(first, first + lanes);
        const changed = await Promise.all(together.map((own) => revokeOf(deps, own, failures)));
        done += changed.reduce((sum, each) => sum + each, 0);
        for (const row of together.flat().slice(-1)) {
          place = [row.tenant_id, row.connection_id];
        }
        round.reached(place);
        if (!round.mayGoOn()) {
          return { done, failed: failures.count, next: place };
        }
      }
      if (rows.length < pageSize) {
        return { done, failed: failures.count, next: null };
      }
    }
  },
};

/** The connections of one tenant, one after the other. @returns how many have changed */
async function revokeOf(deps: SourceParts, rows: readonly Row[], failures: RowFailures): Promise<number> {
  const until = performance.now() + tenantMs;
  const silent = new Set<string>();
  let changed = 0;
  for (const { tenant_id: tenantId, connection_id: id } of rows) {
    if (performance.now() > until) {
      break;
    }
    await failures.collect(async () => {
      changed += (await revokeWithdrawn(deps, tenantId, id, silent)) ? 1 : 0;
    });
  }
  return changed;
}
