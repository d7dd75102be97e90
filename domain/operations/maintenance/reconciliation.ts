import type { WorkflowType } from '#domain/foundation/durable/workflow-types.ts';
import { reconcileDocuments } from './reconcile-documents.ts';
import { reconcileFanOuts } from './reconcile-fan-outs.ts';
import { reconcileResponses } from './reconcile-responses.ts';
import type { Sweep } from './sweep.ts';

/** Nothing is compared with Temporal, for this reason. */
interface Unreconciled {
  because: string;
}

/** By what the rows of each workflow type are compared with Temporal, which may have ended or lost their workflows. */
export const reconciliation = {
  generateResponse: reconcileResponses,
  ingestDocument: reconcileDocuments,
  fanOutEvent: reconcileFanOuts,
  discoverTools: {
    because: 'The server shows when its tools were last read, and each refresh reads them anew.',
  },
  traceResponse: { because: 'A trace is exported by best effort; no row waits for it.' },
  runSweep: { because: 'The clock of the workers starts the actor anew when the sweep is due.' },
} satisfies Record<WorkflowType, Sweep | Unreconciled>;
