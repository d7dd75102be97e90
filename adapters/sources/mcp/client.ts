import { Client } from '@modelcontextprotocol/client';

/** A client in either revision of the protocol, which offers nothing to the server. */
export function createClient(): Client {
  return new Client(
    { name: 'platform', version: '1' },
    {
      capabilities: {},
      versionNegotiation: { mode: 'auto' },
      inputRequired: { autoFulfill: false },
    },
  );
}
