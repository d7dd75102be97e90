import { PlatformClient, type Platform } from './platform-client.ts';
import type { Server } from '../support/tool-world.ts';

/**
 * The client command of the conformance suite: it has the running product use the server at the given address, as an
 * administrator and a person would, and does nothing itself that is under test.
 */
const [, , url = ''] = process.argv;
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as {
  client_id?: string;
  client_secret?: string;
  private_key_pem?: string;
  toolCalls?: { name: string; arguments: object }[];
};
const client = new PlatformClient(JSON.parse(process.env['PLATFORM'] ?? '{}') as Platform);

/** How often a person connects an account before giving up. */
const maxConnections = 3;
let connections = 0;

async function run(): Promise<void> {
  const credentialId = context.client_id === undefined ? null : await storeClient();
  const actsForItself = scenario.startsWith('auth/client-credentials');
  let server = await client.register(url, actsForItself ? { credential_id: credentialId } : {});
  const place = `mcp-servers/${server.mcp_server_config_id}`;
  if (server.status === 'auth_required') {
    const more = { connection_mode: 'personal', client_credential_id: credentialId };
    await client.inSpace('PATCH', place, more);
    server = await connected(server);
  }
  if (server.status !== 'connected') {
    throw new Error(`The server is ${server.status}: ${server.last_error}.`);
  }
  const names = server.discovered_tools.map(({ name }) => name);
  const approved = server.discovered_tools.map(({ name, schema_hash }) => ({ name, schema_hash }));
  await client.inSpace('PATCH', place, { enabled_tools: approved });
  const calls = names.map((name) => ({ name, arguments: argumentsOf(name, server) }));
  for (const { name, arguments: given } of context.toolCalls ?? calls) {
    while (await asksForConnection(name, given)) {
      await connected(server);
    }
  }
}

/** The server with what the account of a new connection may use; a server may ask for another one at once. */
async function connected(server: Server): Promise<Server> {
  for (;;) {
    connections += 1;
    if (connections > maxConnections) {
      throw new Error('The server asks for one connection after the other.');
    }
    const failure = await client.connect(server);
    if (failure !== null) {
      throw new Error(`No account was connected: ${failure}`);
    }
    const usable = await client.usable(server);
    if (usable !== null) {
      return usable;
    }
  }
}

/** Whether a person has to connect before the call can be made. */
async function asksForConnection(name: string, given: object): Promise<boolean> {
  const called = await client.callTool(name, given);
  const error = 'error' in called ? (called.error as { type?: string; code?: unknown } | null) : null;
  if (error?.code === 'authorization_required') {
    return true;
  }
  // An error of the protocol is the server's own answer: the tool was called.
  if (called.status !== 'completed' && error?.type !== 'mcp_protocol_error') {
    throw new Error(`The call of ${name} ended as ${JSON.stringify(called)}.`);
  }
  return false;
}

/** Stores the client that is registered already, for the server and the issuer that the administrator knows. */
async function storeClient(): Promise<string> {
  const { origin } = new URL(url);
  const answer = await fetch(`${origin}/.well-known/oauth-protected-resource/mcp`);
  const { authorization_servers: issuers } = (await answer.json()) as { authorization_servers: string[] };
  const { client_id, client_secret, private_key_pem: private_key } = context;
  const credential = await client.inSpace('POST', 'credentials', {
    name: 'Suite',
    kind: 'oauth2_client',
    origin,
    value: { client_id, client_secret, private_key, issuer: issuers[0] },
  });
  return credential.id as string;
}

/** The second tool of its scenario is given the first one's schema, as the product has stored it. */
function argumentsOf(name: string, { discovered_tools: tools }: Server): object {
  switch (name) {
    case 'add_numbers':
      return { a: 2, b: 3 };
    case 'valid_tool':
      return { region: 'us-west1' };
    case 'json_schema_echo':
      return { schema: tools.find((tool) => tool.name !== name)?.input_schema };
    default:
      return {};
  }
}

await run();
