import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** The direction that is dropped from now on: both, or one alone. */
export type SilentWay = 'both' | 'to-server' | 'to-client';

export interface Silence {
  way?: SilentWay;
  /** Until when new connections are accepted and never answered; without it they are forwarded at once. */
  awayMs?: number;
}

export interface SilentRelay {
  /** On 127.0.0.1. */
  port: number;
  address: string;
  /** Connections that are forwarded now. */
  readonly open: number;
  /**
   * Drops the data of open connections, and their ends, without closing either side, as when a host has lost
   * its power or a firewall its table.
   */
  silence(silence?: Silence): void;
  close(): Promise<void>;
}

interface Pair {
  client: Socket;
  upstream: Socket;
  lost: ReadonlySet<Socket>;
}

/** A proxy before any TCP server. */
export async function startSilentRelay(target: { host?: string; port: number }): Promise<SilentRelay> {
  const pairs = new Set<Pair>();
  const abandoned = new Set<Socket>();
  let awayUntil = 0;
  const server = createServer((client) => {
    client.on('error', () => undefined).setNoDelay();
    if (performance.now() < awayUntil) {
      abandoned.add(client);
      client.on('close', () => abandoned.delete(client)).resume();
      return;
    }
    const upstream = connect(target.port, target.host ?? '127.0.0.1').setNoDelay();
    const pair: Pair = { client, upstream, lost: new Set() };
    pairs.add(pair);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('error', () => undefined);
      from.on('data', (chunk) => pair.lost.has(from) || to.write(chunk));
      from.on('end', () => pair.lost.has(from) || to.end());
      from.on('close', () => {
        if (!pair.lost.has(from)) to.destroy();
        if (client.destroyed && upstream.destroyed) pairs.delete(pair);
      });
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    address: `127.0.0.1:${port}`,
    get open() {
      return [...pairs].filter(({ lost }) => lost.size === 0).length;
    },
    silence: ({ way = 'both', awayMs = 0 } = {}) => {
      awayUntil = performance.now() + awayMs;
      for (const pair of pairs) {
        const { client, upstream } = pair;
        const lost = { both: [client, upstream], 'to-server': [client], 'to-client': [upstream] }[way];
        pair.lost = new Set([...pair.lost, ...lost]);
      }
    },
    close: async () => {
      for (const { client, upstream } of pairs) {
        client.destroy();
        upstream.destroy();
      }
      abandoned.forEach((socket) => socket.destroy());
      server.close();
      await once(server, 'close');
    },
  };
}

/** A server's address, through the relay. */
export function throughRelay(address: string, relay: SilentRelay): string {
  const url = new URL(address);
  url.searchParams.delete('host');
  url.host = relay.address;
  return url.href;
}
