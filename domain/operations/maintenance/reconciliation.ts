import type { WorkflowType } from '#domain/foundation/durable/workflow-types.ts';
import { openErasures } from '#domain/operations/scope-erasure/open-erasures.ts';
import { openDeletions } from '#domain/operations/tenant-deletion/open-deletions.ts';
import { listedSweep } from '#domain/operations/sweep-kinds/listed-sweep.ts';
import { reconcileConnectors } from './reconcile-connectors.ts';
import { reconcileDocuments } from './reconcile-documents.ts';
import { reconcileEmbeddings } from './reconcile-embeddings.ts';
import { reconcileFanOuts } from './reconcile-fan-outs.ts';
import { reconcileResponses } from './reconcile-responses.ts';
import type { Sweep } from '#domain/operations/sweep-kinds/sweep.ts';

/** Rows of this type are not compared with Temporal, for this reason. */
interface Unreconciled {
  because: string;
}

/** The sweep that compares the rows of each workflow type with Temporal, which may have ended or lost the workflow. */
export const reconciliation = {
  generateResponse: reconcileResponses,
  ingestDocument: reconcileDocuments,
  embedSpace: reconcileEmbeddings,
  runConnector: reconcileConnectors,
  syncConnector: { because: 'The actor of its connector takes an interrupted run up again.' },
  fanOutEvent: reconcileFanOuts,
  discoverTools: {
    because: 'The server shows when its tools were last read, and each refresh reads them again.',
  },
  traceResponse: { because: 'A trace is exported by best effort; no row waits for it.' },
  deleteTenant: listedSweep(openDeletions),
  eraseScope: listedSweep(openErasures),
  runSweep: { because: 'The clock of the workers starts the workflow again when the sweep is due.' },
} satisfies Record<WorkflowType, Sweep | Unreconciled>;
