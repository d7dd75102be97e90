import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { interactiveOptions, recoveryOptions } from '#temporal/worker-options.ts';
import { bareQueue } from '../support/bare.ts';
import * as activities from './bare-activities.ts';

const silent = () => undefined;
const logger = { log: silent, trace: silent, debug: silent, info: silent, warn: silent, error: silent };
Runtime.install({ logger, shutdownSignals: [] });

/** A worker with the options of ours and nothing of ours in it. */
const [connection, workflowBundle] = await Promise.all([
  NativeConnection.connect({ address: process.env['TEMPORAL_ADDRESS']! }),
  bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('./bare-workflows.ts', import.meta.url)),
    logger,
  }),
]);
const worker = await Worker.create({
  connection,
  workflowBundle,
  activities,
  taskQueue: bareQueue,
  ...recoveryOptions,
  ...interactiveOptions,
});
const running = worker.run();
console.log(JSON.stringify({ ready: true }));
process.once('SIGTERM', () => worker.shutdown());
process.stdin.on('end', () => process.exit()).resume();
await running;
await connection.close();
process.exit();
