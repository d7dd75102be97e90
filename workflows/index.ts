/** The list that the bundler sees: every workflow type of the platform. */
export { generateResponse } from './generate-response/workflow.ts';
export { ingestDocument } from './ingest-document/workflow.ts';
export { runMaintenance } from './run-maintenance/workflow.ts';
export { discoverTools } from './discover-tools/workflow.ts';
export { fanOutEvent } from './fan-out-event/workflow.ts';
