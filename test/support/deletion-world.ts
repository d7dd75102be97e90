import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { createAuthorizationServers } from '#adapters/authorization/authorization-servers.ts';
import type { Anchor, AnchorLog } from '#domain/foundation/events/anchor.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import { erasureDatabase } from '#domain/operations/erasure/erasure-database.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { isLockTimeout } from '#domain/foundation/persistence/sql-state.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { verifyErasure } from '#domain/operations/erasure-proof/verify-erasure.ts';
import { certify } from '#domain/operations/tenant-deletion/certify.ts';
import {
  destroyKeys,
  eraseRows,
  takeStock,
  type ErasurePlace,
} from '#domain/operations/tenant-deletion/erase-rows.ts';
import { haltTenant } from '#domain/operations/tenant-deletion/halt-tenant.ts';
import { nextStage } from '#domain/operations/tenant-deletion/next-stage.ts';
import { proveErasure, type Prover } from '#domain/operations/tenant-deletion/prove-erasure.ts';
import type { DeletionRef } from '#domain/operations/tenant-deletion/progress.ts';
import { revokeExternal } from '#domain/operations/tenant-deletion/revoke-external.ts';
import { stopWork } from '#domain/operations/tenant-deletion/stop-work.ts';
import type { TenantWorkflows } from '#domain/operations/tenant-deletion/tenant-workflows.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { addOperator, type Operator } from './operators.ts';
import { connect } from './tables.ts';
import { secrets } from './world.ts';

/** A Temporal in which nothing of the tenant runs. */
export const noWorkflows: TenantWorkflows = {
  listOpen: async () => [],
  openOf: async () => [],
  cancel: async () => {},
  terminate: async () => {},
  deleteClosed: async () => 0,
  countListed: async () => 0,
};

/** The steps of a deletion over a real database, in the order of the workflow and without Temporal. */
export interface DeletionWorld {
  database: TestDatabase;
  admin: Client;
  operator: Operator;
  purge: UnitOfWork;
  /** Of the same role. */
  batches: Database;
  anchors: AnchorLog;
  anchored: Anchor[];
  prover: Prover;
  /** The stage that is begun; retried where a transaction in flight holds its lock for long. */
  begin(ref: DeletionRef): Promise<void>;
  erase(ref: DeletionRef): Promise<void>;
  /** From the cut to the certificate. @returns the number of passes */
  run(ref: DeletionRef): Promise<number>;
  close(): Promise<void>;
}

export async function openDeletionWorld(): Promise<DeletionWorld> {
  const database = await createTestDatabase();
  const purgeOrm = createOrm({ url: database.purgeUrl, statementTimeoutMs: 10_000, poolSize: 4 });
  const purge = new UnitOfWork(purgeOrm);
  const { unitOfWork } = database;
  const batches = erasureDatabase(database.purgeUrl);
  const anchored: Anchor[] = [];
  const anchors = {
    append: async (lines: readonly Anchor[]) => anchored.push(...lines) > 0,
    lastOf: () => undefined,
  };
  const parts = {
    unitOfWork,
    purge,
    batches,
    secrets,
    anchors,
    eventRetentionDays: 365,
    softwareVersion: 'test',
  };
  const prover: Prover = {
    verify: (tenantId, sampleIds) =>
      verifyErasure({ databaseUrl: database.verifierUrl, tenantId, sampleIds }),
  };
  const authorizationServers = createAuthorizationServers({
    fetch: async () => Promise.reject(new Error('unreachable')),
    onLimitExceeded: () => {},
  });
  const world: DeletionWorld = {
    database,
    admin: await connect(database.adminUrl),
    operator: await addOperator(unitOfWork),
    purge,
    batches,
    anchors,
    anchored,
    prover,
    begin: async ({ tenantId, deletionId }) => {
      for (let attempt = 0; ; attempt += 1) {
        try {
          const stage = await unitOfWork.inTenant(tenantId, (em) => nextStage(em, tenantId, deletionId));
          if (stage.is !== 'deleting') throw new Error(`The deletion is ${stage.is}.`);
          return;
        } catch (error) {
          if (attempt > 20 || !isLockTimeout(error)) throw error;
          await sleep(20);
        }
      }
    },
    erase: async (ref) => {
      await destroyKeys(parts, ref);
      let from: ErasurePlace | null = null;
      do {
        from = await eraseRows(parts, ref, { from, mayGoOn: () => true, reached: () => {} });
      } while (from !== null);
    },
    run: async (ref) => {
      await haltTenant(unitOfWork, ref.tenantId);
      await world.begin(ref);
      await stopWork({ unitOfWork, workflows: noWorkflows }, ref.tenantId, { force: true });
      await revokeExternal({ unitOfWork, secrets, authorizationServers }, ref);
      await takeStock({ ...parts, prover }, ref);
      for (let pass = 1; ; pass += 1) {
        await world.erase(ref);
        const { clean, left } = await proveErasure({ unitOfWork, prover, workflows: noWorkflows }, ref);
        if (clean) {
          await certify(parts, ref);
          return pass;
        }
        if (pass === 5) throw new Error(`There is something left in ${left.join(', ')}.`);
      }
    },
    close: async () => {
      await world.admin.end();
      await Promise.all([purgeOrm.close(true), batches.close()]);
      await database.drop();
    },
  };
  return world;
}
