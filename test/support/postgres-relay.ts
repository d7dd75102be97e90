import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Writable } from 'node:stream';

export interface PostgresRelay {
  /** The database's address, through the relay. */
  url: string;
  /** Breaks every connection, and refuses new ones until it is restored. */
  sever(): void;
  mend(): void;
  close(): Promise<void>;
}

/** The handler for data from one side, created for each connection; `to` is the target socket. */
type Way = (to: Writable) => (chunk: Buffer) => void;

const asItIs: Way = (to) => (chunk) => void to.write(chunk);

/** A proxy before PostgreSQL that sees, and can drop, its traffic. */
export async function startPostgresRelay(
  databaseUrl: string,
  { fromClient = asItIs, fromServer = asItIs }: { fromClient?: Way; fromServer?: Way },
): Promise<PostgresRelay> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let severed = false;
  const server = createServer((client) => {
    if (severed) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(target.port), target.hostname);
    for (const [socket, other, way] of [
      [client, upstream, fromClient],
      [upstream, client, fromServer],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        // A reset comes without an end, and must be forwarded all the same.
        other.end();
      });
      socket.on('data', way(other));
      socket.on('end', () => other.end());
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(databaseUrl);
  url.searchParams.delete('host');
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    sever: () => {
      severed = true;
      sockets.forEach((socket) => socket.destroy());
    },
    mend: () => void (severed = false),
    close: async () => {
      sockets.forEach((socket) => socket.destroy());
      server.close();
      await once(server, 'close');
    },
  };
}

/** The type of a message that carries a notification. */
export const notificationResponse = 'A'.charCodeAt(0);

/** Calls `found` with each whole message of a server: its type, its length without the type, and the rest. */
export function serverMessages(found: (type: number, message: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
      const length = rest.readUInt32BE(1) + 1;
      found(rest.readUInt8(0), rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  };
}
