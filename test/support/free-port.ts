import { findFreePort } from '../../bin/launcher/ports.ts';
import { holdUdpPort } from './udp-port.ts';

/** A TCP port that nobody uses and no other test gets: this process holds the UDP port of that number until it ends. */
export async function claimPort(): Promise<number> {
  for (;;) {
    const port = await findFreePort();
    // Where nothing can be held, nothing is claimed.
    if ((await holdUdpPort(port)) !== 'taken') return port;
  }
}
