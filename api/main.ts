import closeWithGrace from 'close-with-grace';
import { describeFault } from '#adapters/telemetry/logger.ts';
import { exitWithParent } from '#adapters/process/exit-with-parent.ts';
import { limitHeapGrowth } from '#adapters/process/limit-heap-growth.ts';
import { parseGatewayConfig } from '#domain/foundation/kernel/config.ts';
import { armFailpointFrom } from '#domain/foundation/kernel/failpoint.ts';
import { buildApp } from './app.ts';
import { assemble } from './compose.ts';

limitHeapGrowth();
const config = parseGatewayConfig(process.env);
armFailpointFrom(config.PLATFORM_FAILPOINT);
if (config.EXIT_WITH_PARENT === '1') {
  exitWithParent();
}
const deps = assemble(config);
await deps.start();
const app = await buildApp(deps);

/** Share of the drain time for open streams and waits; those that are left are then aborted. */
const streamsShare = 0.8;

/**
 * Readiness fails and new requests are refused, while open requests continue for most of the drain time. Those that are
 * left are then aborted, so that no client takes a part for the whole.
 */
closeWithGrace({ delay: config.DRAIN_SECONDS * 1_000, logger: false }, async ({ err, signal }) => {
  if (err === undefined) {
    deps.logger.info({ signal }, 'stopping');
  } else {
    deps.logger.fatal(describeFault(err), 'stopping after a fault');
  }
  deps.draining.value = true;
  const timer = setTimeout(
    () => deps.openStreams.forEach((breakOff) => breakOff()),
    config.DRAIN_SECONDS * 1_000 * streamsShare,
  );
  await app.close();
  clearTimeout(timer);
  await deps.close();
});

await app.listen({ host: config.HOST, port: config.PORT, listenTextResolver: () => 'listening' });
deps.logger.info({ port: config.PORT }, 'gateway ready');
