import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

const notificationResponse = 'A'.charCodeAt(0);

/** A relay before PostgreSQL that keeps notifications to itself, as poolers do that share connections by transaction. */
export async function startDeafRelay(databaseUrl: string): Promise<{ url: string; close(): Promise<void> }> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    const pass = withoutNotifications((message) => client.write(message));
    upstream.on('data', pass);
    upstream.on('end', () => client.end());
    client.pipe(upstream);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(databaseUrl);
  url.searchParams.delete('host');
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    close: async () => {
      sockets.forEach((socket) => socket.destroy());
      server.close();
      await once(server, 'close');
    },
  };
}

/** Each message of a server has its type and, in the four bytes behind it, its length without the type. */
function withoutNotifications(write: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
      const length = rest.readUInt32BE(1) + 1;
      if (rest[0] !== notificationResponse) {
        write(rest.subarray(0, length));
      }
      rest = rest.subarray(length);
    }
  };
}
