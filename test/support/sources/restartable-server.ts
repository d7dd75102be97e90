import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP server of one port, which can be stopped with its connections, and started again. */
export interface RestartableServer {
  origin: string;
  stop: () => Promise<void>;
  start: () => Promise<void>;
}

export async function startRestartable(answer: RequestListener): Promise<RestartableServer> {
  const server = createServer(answer);
  const listen = async (port: number) => {
    if (!server.listening) await once(server.listen(port, '127.0.0.1'), 'listening');
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    start: () => listen(port),
    stop: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
