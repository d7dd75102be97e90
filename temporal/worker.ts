import closeWithGrace from 'close-with-grace';
import { Runtime } from '@temporalio/worker';
import { exitWithParent } from '#adapters/process/exit-with-parent.ts';
import { limitHeapGrowth } from '#adapters/process/limit-heap-growth.ts';
import { createLogger, describeFault } from '#adapters/telemetry/logger.ts';
import { parseWorkerConfig } from '#domain/foundation/kernel/config.ts';
import { armFailpointFrom } from '#domain/foundation/kernel/failpoint.ts';
import { assembleWorker } from './compose.ts';
import { sdkLogger } from './sdk-logger.ts';

limitHeapGrowth();
const config = parseWorkerConfig(process.env);
const logger = createLogger('worker', config.LOG_LEVEL);
armFailpointFrom(config.PLATFORM_FAILPOINT);
if (config.EXIT_WITH_PARENT === '1') {
  exitWithParent();
}
Runtime.install({ logger: sdkLogger(logger), shutdownSignals: [] });
const worker = await assembleWorker(config, logger);

closeWithGrace({ delay: 25_000, logger: false }, async ({ err, signal }) => {
  if (err === undefined) {
    logger.info({ signal }, 'stopping');
  } else {
    logger.fatal(describeFault(err), 'stopping after a fault');
  }
  await worker.stop();
});

worker.start();
