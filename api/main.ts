import closeWithGrace from 'close-with-grace';
import { exitWithParent } from '#adapters/process/exit-with-parent.ts';
import { parseGatewayConfig } from '#domain/kernel/config.ts';
import { armFailpointFrom } from '#domain/kernel/failpoint.ts';
import { buildApp } from './app.ts';
import { assemble } from './compose.ts';

const config = parseGatewayConfig(process.env);
armFailpointFrom(config.PLATFORM_FAILPOINT);
if (config.EXIT_WITH_PARENT === '1') {
  exitWithParent();
}
const deps = assemble(config);
await deps.start();
const app = await buildApp(deps);

/** Readiness says no, open streams get a hint to resume elsewhere, then requests are let finish. */
closeWithGrace({ delay: config.DRAIN_SECONDS * 1_000, logger: false }, async () => {
  deps.draining.value = true;
  for (const end of deps.openStreams) {
    end('drain');
  }
  await app.close();
  await deps.close();
});

await app.listen({ host: config.HOST, port: config.PORT, listenTextResolver: () => 'listening' });
deps.logger.info({ port: config.PORT }, 'gateway ready');
