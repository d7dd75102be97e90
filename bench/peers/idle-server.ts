import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Opens event streams and sends nothing more: the cost of an idle connection in Node itself. */
const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write('retry: 2000\n\n');
});
server.listen({ port: 0, host: '127.0.0.1', backlog: 1_024 });
await once(server, 'listening');
console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
process.stdin.on('end', () => process.exit()).resume();
