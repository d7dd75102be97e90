import { Resolver } from 'node:dns';

export type Resolve = (
  hostname: string,
  done: (error: Error | null, addresses: readonly { address: string }[]) => void,
) => void;

/** One question to one name server; each is asked twice. */
const questionMs = 2_000;

/**
 * Asks the name servers of the machine from here, for all addresses of a name. The operating system's own look-up
 * blocks one of four threads that the whole process shares, so a tenant whose name is never answered would stop everybody
 * else's look-ups. A name that is not fully qualified, or stands in the hosts file alone, is not found.
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
      // What has no address of the one kind may have one of the other.
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
