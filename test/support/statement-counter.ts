import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Statements that went through: a simple query or the execution of a prepared one each. */
export interface StatementCounter {
  /** The database's address, through the counter. */
  url: string;
  /** How many `work` sent, with all its connections. */
  during(work: () => Promise<unknown>): Promise<number>;
  close(): Promise<void>;
}

const simpleQuery = 'Q'.charCodeAt(0);
const execute = 'E'.charCodeAt(0);

/** A relay before PostgreSQL that reads the clients' messages on their way. */
export async function countStatements(databaseUrl: string): Promise<StatementCounter> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let counted = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    const read = messageReader((type) => {
      counted += type === simpleQuery || type === execute ? 1 : 0;
    });
    client.on('data', read);
    client.pipe(upstream).pipe(client);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(databaseUrl);
  url.searchParams.delete('host');
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    during: async (work) => {
      const before = counted;
      await work();
      return counted - before;
    },
    close: async () => {
      sockets.forEach((socket) => socket.destroy());
      server.close();
      await once(server, 'close');
    },
  };
}

/** Calls `found` with the type of each message of a client; its first message has none. */
function messageReader(found: (type: number) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  let started = false;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const typed = started ? 1 : 0;
      if (rest.length < typed + 4) {
        return;
      }
      const length = typed + rest.readUInt32BE(typed);
      if (rest.length < length) {
        return;
      }
      if (started) {
        found(rest[0]!);
      }
      started = true;
      rest = rest.subarray(length);
    }
  };
}
