import { once } from 'node:events';
import { createServer, request, Agent } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Forwards every request to the model and its bytes back, and does nothing else. */
const agent = new Agent({ keepAlive: true });
const server = createServer((incoming, outgoing) => {
  outgoing.socket?.setNoDelay(true);
  const { method, headers, url } = incoming;
  const upstream = request(
    `${process.env['MODEL_URL']}${url}`,
    { agent, ...(method ? { method } : {}), headers: { 'content-type': headers['content-type'] } },
    (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, { 'content-type': 'text/event-stream' });
      answer.pipe(outgoing);
    },
  );
  upstream.setNoDelay(true);
  incoming.pipe(upstream);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
process.stdin.on('end', () => process.exit()).resume();
