import { findTemporal, temporalCache } from '../../bin/launcher/find-temporal.ts';
import { startTemporal, type RunningTemporal } from '../../bin/launcher/temporal.ts';
import { startToolServer, type ToolServer } from './tool-servers.ts';
import { openToolWorld, type ToolWorld } from './tool-world.ts';

/** Two workers whose models call a ledger, with a Temporal server of their own, so that it can be paused. */
export interface LedgerWorld {
  temporal: RunningTemporal;
  ledger: ToolServer;
  tools: ToolWorld;
  stop(): Promise<void>;
}

/** The model of each name adds an item of that name, once, by a call without a key. */
export async function openLedgerWorld(names: readonly string[]): Promise<LedgerWorld> {
  const { path: binary } = await findTemporal({ cacheDir: temporalCache(process.env), env: process.env });
  const [temporal, ledger] = await Promise.all([startTemporal({ binary }), startToolServer()]);
  const tools = await openToolWorld({
    scripts: names.map((name) => ({
      name,
      text: 'Done.',
      calls: [[{ name: 'mcp__ledger__unkeyed_add', arguments: { item: name } }]],
    })),
    origins: [ledger.origin],
    workers: 2,
    temporalAddress: temporal.address,
  });
  const server = await tools.register('ledger', ledger.url);
  await tools.update(server, { enabled_tools: ['*'] });
  return {
    temporal,
    ledger,
    tools,
    stop: async () => {
      await tools.stop();
      await ledger.stop();
      await temporal.stop();
    },
  };
}
