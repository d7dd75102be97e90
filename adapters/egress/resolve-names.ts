import { Resolver } from 'node:dns';

export type Resolve = (
  hostname: string,
  done: (error: Error | null, addresses: readonly { address: string }[]) => void,
) => void;

/** Timeout of one query to one name server; each server is queried twice. */
const questionMs = 2_000;

/**
 * Queries the machine's name servers directly, for all addresses of a name. The operating system's own look-up blocks
 * one of four threads that the whole process shares, so a tenant with a name that is never answered would stop all
 * other look-ups. A name that is not fully qualified, or stands in the hosts file alone, is not found.
 * @param servers instead of the machine's
 */
export function createResolve(servers?: readonly string[]): Resolve {
  const resolver = new Resolver({ timeout: questionMs, tries: 2 });
  if (servers !== undefined) {
    resolver.setServers(servers);
  }
  return (hostname, done) => {
    const found: string[][] = [];
    let failure: Error | null = null;
    let open = 2;
    const collect = (place: number) => (error: Error | null, addresses: string[] | undefined) => {
      // A name without addresses of one family may have some of the other.
      failure ??= error;
      found[place] = error === null ? (addresses ?? []) : [];
      open -= 1;
      if (open === 0) {
        const all = found.flat().map((address) => ({ address }));
        done(all.length === 0 ? (failure ?? new Error('The name has no address.')) : null, all);
      }
    };
    resolver.resolve4(hostname, collect(0));
    resolver.resolve6(hostname, collect(1));
  };
}
