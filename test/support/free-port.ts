import { createSocket } from 'node:dgram';
import { findFreePort } from '../../bin/launcher/ports.ts';

/** A TCP port that nobody uses and no other test gets: this process holds the UDP port of that number until it ends. */
export async function claimPort(): Promise<number> {
  for (;;) {
    const port = await findFreePort();
    if (await holdUdp(port)) return port;
  }
}

function holdUdp(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4').unref();
    socket.once('error', (error: NodeJS.ErrnoException) => {
      socket.close();
      // Where nothing can be held, nothing is claimed.
      resolve(error.code !== 'EADDRINUSE');
    });
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true));
  });
}
