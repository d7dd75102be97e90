/** Stands in for the gateway or the worker: ready at once, ends with its parent, and crashes on request. */
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { exitWithParent } from '#adapters/process/exit-with-parent.ts';
import { instanceHeaders } from '#domain/foundation/kernel/instance-header.ts';

const [variable = 'PORT', crashFile = ''] = process.argv.slice(2);
const log = (msg: string): void =>
  void process.stdout.write(`${JSON.stringify({ level: 30, time: Date.now(), msg })}\n`);

if (crashFile && existsSync(crashFile)) {
  log('last words');
  process.exit(3);
}
exitWithParent();
const server = createServer((request, response) => {
  response.setHeaders(new Map(Object.entries(instanceHeaders(process.env['INSTANCE_ID']))));
  const { DATABASE_ADMIN_URL: admin, TEMPORAL_ADDRESS: temporal, EXIT_WITH_PARENT: exit } = process.env;
  const body = request.url === '/pid' ? { pid: process.pid } : { admin: admin ?? null, temporal, exit };
  response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
});
server.listen(Number(process.env[variable]), '127.0.0.1', () => log('listening'));
process.on('SIGTERM', () => {
  log('draining');
  server.closeAllConnections();
  server.close();
});
