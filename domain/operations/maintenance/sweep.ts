import type { AnchorLog } from '#domain/foundation/events/anchor.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { WorkflowCanceller } from '#domain/foundation/durable/workflow-canceller.ts';
import type { WorkflowInspector } from '#domain/foundation/durable/workflow-inspector.ts';
import type { Database } from '#domain/foundation/persistence/database.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { Round, RoundResult } from './round.ts';

export interface SweepDependencies {
  database: Database;
  unitOfWork: UnitOfWork;
  /** Works as the purge role. */
  purge: UnitOfWork;
  inspector: WorkflowInspector;
  canceller: WorkflowCanceller;
  secrets: Secrets;
  anchors: AnchorLog;
  eventRetentionDays: number;
}

/** A part of upkeep that runs by the clock: rounds of it may be repeated, and run at once with themselves. */
export interface Sweep {
  /** A cheap look at whether a round would find anything; without it there is one each time. */
  isDue?(deps: SweepDependencies): Promise<boolean>;
  run(deps: SweepDependencies, round: Round): Promise<RoundResult>;
}
