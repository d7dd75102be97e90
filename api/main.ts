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

/** The share of the drain time that open streams and waits have; in the rest those that are left are broken off. */
const streamsShare = 0.8;

/**
 * Readiness says no and nobody new is let in, while what is open goes on for most of the time. What is left then is
 * broken off, so that no client takes a part for the whole.
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
