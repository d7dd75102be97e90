import { exitWithParent } from '#adapters/process/exit-with-parent.ts';
import { readProviderSettings } from './identity-provider/settings.ts';
import { serveProvider } from './identity-provider/server.ts';

const settings = readProviderSettings(process.env);
exitWithParent();
const server = await serveProvider(settings, process.env['INSTANCE_ID']);
process.once('SIGTERM', () => {
  server.closeAllConnections();
  server.close(() => process.exit(0));
});
