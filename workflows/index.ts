/** The entry of the workflow bundle: every workflow type of the platform. */
export { generateResponse } from './generate-response/workflow.ts';
export { ingestDocument } from './ingest-document/workflow.ts';
export { runSweep } from './run-sweep/workflow.ts';
export { discoverTools } from './discover-tools/workflow.ts';
export { traceResponse } from './trace-response/workflow.ts';
export { fanOutEvent } from './fan-out-event/workflow.ts';
export { embedSpace } from './embed-space/workflow.ts';
export { runConnector } from './run-connector/workflow.ts';
export { deleteTenant } from './delete-tenant/workflow.ts';
export { syncConnector } from './sync-connector/workflow.ts';
export { eraseScope } from './erase-scope/workflow.ts';
