import type { AuthorizationServers } from '#domain/capabilities/connections/authorization-servers.ts';
import type { AnchorLog } from '#domain/foundation/events/anchor.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { WorkflowCanceller } from '#domain/foundation/durable/workflow-canceller.ts';
import type { WorkflowStarter } from '#domain/foundation/durable/workflow-starter.ts';
import type { WorkflowInspector } from '#domain/foundation/durable/workflow-inspector.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { Round, RoundResult } from './round.ts';

export interface SweepDependencies {
  database: Database;
  unitOfWork: UnitOfWork;
  /** Runs as the purge role. */
  purge: UnitOfWork;
  inspector: WorkflowInspector;
  canceller: WorkflowCanceller;
  starter: WorkflowStarter;
  authorizationServers: AuthorizationServers;
  secrets: Secrets;
  anchors: AnchorLog;
  eventRetentionDays: number;
}

/** A periodic part of upkeep. Its rounds may be repeated, and may run concurrently. */
export interface Sweep {
  /** A cheap check whether a round would find anything; without it, every tick runs a round. */
  isDue?(deps: SweepDependencies): Promise<boolean>;
  run(deps: SweepDependencies, round: Round): Promise<RoundResult>;
}
