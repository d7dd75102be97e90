import { discoverAuthorizationServerMetadata } from '@modelcontextprotocol/client';
import { AuthorizationFailure } from '#domain/capabilities/connections/authorization-servers.ts';
import { withFailures } from './failures.ts';
import { readMetadata } from './server-metadata.ts';
import { newWire } from './wire.ts';

const discoveryMs = 30_000;

/** The validated metadata of an authorization server that is known by its issuer. @throws AuthorizationFailure */
export function issuerMetadata(
  bounded: typeof globalThis.fetch,
  issuer: string,
): Promise<Record<string, unknown>> {
  const wire = newWire(bounded, AbortSignal.timeout(discoveryMs));
  return withFailures(wire, async () => {
    const known = await discoverAuthorizationServerMetadata(issuer, { fetchFn: wire.fetch });
    if (known === undefined) {
      throw new AuthorizationFailure('not_discovered', { sent: true });
    }
    return readMetadata(wire.text);
  });
}
