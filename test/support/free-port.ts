import { findFreePort } from '../../bin/launcher/ports.ts';
import { holdUdpPort } from './udp-port.ts';

/** A free TCP port that no other test gets: this process holds the UDP port of that number until it ends. */
export async function claimPort(): Promise<number> {
  for (;;) {
    const port = await findFreePort();
    // Where no port can be held, none is claimed.
    if ((await holdUdpPort(port)) !== 'taken') return port;
  }
}
