import { once } from 'node:events';
import { createServer } from 'node:http';
import { packageBytes } from './builtin-weights.ts';
import { claimPort } from './free-port.ts';

/** An address of the builtin model's package, at which nothing listens until it is served. */
export interface ModelAddress {
  url: string;
  serve(): Promise<void>;
  close(): void;
}

export async function modelAddress(): Promise<ModelAddress> {
  const port = await claimPort();
  const server = createServer((_request, response) => {
    void packageBytes().then((bytes) => response.writeHead(200).end(bytes));
  });
  return {
    url: `http://127.0.0.1:${port}/model.jar`,
    serve: async () => {
      await packageBytes();
      server.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
