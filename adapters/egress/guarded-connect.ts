import { connect as dial, type Socket } from 'node:net';
import { originOf } from '#domain/foundation/kernel/origin.ts';
import { EgressRefused, resolvePublic } from './public-address.ts';
import { createResolve, type Resolve } from './resolve-names.ts';

export interface Target {
  scheme: string;
  host: string;
  port: number;
  signal: AbortSignal;
  /** Only origins that the operator lists: a public address is no reason to send a secret unencrypted. */
  listedOnly?: boolean;
}

const dialMs = 5_000;

/**
 * TCP connections under the rules of `createGuardedFetch`, for protocols other than HTTP: public addresses, checked
 * when dialled, and the origins that the operator lists. The caller encrypts, and bounds its own waits.
 */
export function createGuardedConnect(
  allowedOrigins: readonly string[],
  resolve: Resolve = createResolve(),
): (target: Target) => Promise<Socket> {
  const allowed = new Set(allowedOrigins.map(originOf));
  return async ({ scheme, host, port, signal, listedOnly = false }) => {
    const bare = host.replace(/^\[|\]$/g, '');
    const listed = allowed.has(originOf(`${scheme}://${host}:${port}`));
    if (listedOnly && !listed) {
      throw new EgressRefused();
    }
    const address = listed
      ? bare
      : await new Promise<string>((done, refuse) => {
          resolvePublic(resolve, bare, (error, found) => (error === null ? done(found) : refuse(error)));
        });
    signal.throwIfAborted();
    if (port < 1 || port > 65_535) {
      throw new EgressRefused();
    }
    return dialWithin(address, port, signal);
  };
}

/** The signal destroys the connection at any time, the timeout only until it is there. */
function dialWithin(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  return new Promise((done, refuse) => {
    const socket = dial({ host, port, signal });
    const timer = setTimeout(() => socket.destroy(new Error('The address does not answer.')), dialMs);
    socket.once('error', refuse);
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.off('error', refuse);
      done(socket);
    });
    socket.once('close', () => clearTimeout(timer));
  });
}
