import { createSocket, type Socket } from 'node:dgram';

/**
 * Holds a UDP port of 127.0.0.1 until it is closed or this process ends: a lock that all processes of the
 * machine see, and that is released with its process. `impossible`: no port can be held here at all.
 */
export function holdUdpPort(port: number): Promise<Socket | 'taken' | 'impossible'> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4').unref();
    socket.once('error', (error: NodeJS.ErrnoException) => {
      socket.close();
      resolve(error.code === 'EADDRINUSE' ? 'taken' : 'impossible');
    });
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(socket));
  });
}
