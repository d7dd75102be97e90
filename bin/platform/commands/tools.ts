import type { Command } from 'commander';
import type { Inputs, Outputs } from '../connect.ts';
import { addConnections } from './connections.ts';
import { inSpace, type InSpace } from '../in-space.ts';
import { fields, lines, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

interface ConnectionOptions {
  connection?: 'none' | 'personal' | 'shared';
  clientCredentialId?: string;
  resource?: string;
}

interface Registration extends InSpace, ConnectionOptions {
  name: string;
  address: string;
  credential?: string;
  header?: string;
  credentialId?: string;
}

interface Changes extends InSpace, ConnectionOptions {
  name?: string;
  credentialId?: string;
  enabled?: boolean;
  enableTool?: string[];
  enableAll?: boolean;
  enableNone?: boolean;
}

interface ToolChanges extends InSpace {
  tool: string;
  repeatable?: boolean;
  approval?: boolean;
}

const connectionHelp = 'personal, shared or none: whose account authorizes its calls';
const clientHelp = 'a stored client that is registered with its authorization server';
const resourceHelp = 'resource indicator in the place of that of its metadata';

function connectionOf({ connection, clientCredentialId, resource }: ConnectionOptions) {
  return {
    ...(connection === undefined ? {} : { connection_mode: connection }),
    ...(clientCredentialId === undefined ? {} : { client_credential_id: clientCredentialId }),
    ...(resource === undefined ? {} : { connection_resource: resource }),
  };
}

const id = '<server_id>';
const ref = ({ space }: InSpace, server: string) => ({ space_id: space, server_id: server });

export function addToolServers(program: Command): void {
  const group = program.command('tool-servers').description('servers whose tools a space may use');

  remote(inSpace(paged(group.command('list')).description('tool servers, newest first')), {
    call: (client, { space, ...page }: InSpace & PageOptions) =>
      client.toolServers.list.query({ space_id: space, ...pageInput(page) }),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.mcp_server_config_id,
          slug: (row) => row.slug,
          status: (row) => row.status,
          error: (row) => row.last_error,
          tools: (row) => row.tool_count,
          checked: (row) => row.last_checked_at,
        }),
        meta,
      ),
  });
  remote(inSpace(group.command('get').description('one server with its tools').argument(id)), {
    call: (client, options: InSpace, server) => client.toolServers.get.query(ref(options, server)),
    show,
  });
  remote(
    inSpace(group.command('register'))
      .description('connect a server; none of its tools is enabled')
      .argument('<slug>', 'part of every tool name: mcp__<slug>__<tool>')
      .requiredOption('--name <name>', 'for people')
      .requiredOption('--address <url>', 'where it listens')
      .option('--credential <variable>', 'the worker’s variable that is bound to its origin')
      .option('--header <name>', 'where it goes; a bearer token when not given')
      .option('--credential-id <id>', 'a stored credential for its origin instead')
      .option('--connection <mode>', connectionHelp)
      .option('--client-credential-id <id>', clientHelp)
      .option('--resource <url>', resourceHelp),
    {
      call: (client, options: Registration, slug) =>
        client.toolServers.register.mutate({
          space_id: options.space,
          slug,
          display_name: options.name,
          url: options.address,
          ...(options.credentialId === undefined ? {} : { credential_id: options.credentialId }),
          ...connectionOf(options),
          ...(options.credential === undefined
            ? {}
            : {
                auth: {
                  credential_ref: options.credential,
                  ...(options.header === undefined ? {} : { header: options.header }),
                },
              }),
        }),
      show,
    },
  );
  remote(
    inSpace(group.command('update'))
      .description('change what is given; a tool is approved by the hash of its definition')
      .argument(id)
      .option('--name <name>', 'for people')
      .option('--credential-id <id>', 'a stored credential in the place of what there is')
      .option('--connection <mode>', connectionHelp)
      .option('--client-credential-id <id>', clientHelp)
      .option('--resource <url>', resourceHelp)
      .option('--enabled', 'its tools may be used')
      .option('--no-enabled', 'no tool of it is offered or called')
      .option('--enable-tool <name@hash...>', 'exactly these tools; the hash approves what a tool is now')
      .option('--enable-all', 'all tools, with future ones; beside it only name@hash')
      .option('--enable-none', 'no tool'),
    {
      call: (client, options: Changes, server) =>
        client.toolServers.update.mutate({
          ...ref(options, server),
          ...(options.name === undefined ? {} : { display_name: options.name }),
          ...(options.credentialId === undefined ? {} : { credential_id: options.credentialId }),
          ...connectionOf(options),
          ...(options.enabled === undefined ? {} : { enabled: options.enabled }),
          ...enabledTools(options),
        }),
      show,
    },
  );
  remote(
    inSpace(group.command('set-tool'))
      .description('how one tool of a server is called')
      .argument(id)
      .requiredOption('--tool <name>', 'the server’s own name of it')
      .option('--repeatable', 'a call whose outcome was lost may be made again')
      .option('--no-repeatable', 'it may not')
      .option('--approval', 'somebody approves each call')
      .option('--no-approval', 'nobody has to, even if it announces destruction'),
    {
      call: (client, options: ToolChanges, server) =>
        client.toolServers.update.mutate({
          ...ref(options, server),
          tools: [
            {
              name: options.tool,
              ...(options.repeatable === undefined ? {} : { repeatable: options.repeatable }),
              ...(options.approval === undefined ? {} : { require_approval: options.approval }),
            },
          ],
        }),
      show,
    },
  );
  remote(
    inSpace(group.command('get-tool'))
      .description('one tool as its server lists it now, and its difference from what was approved')
      .argument(id)
      .requiredOption('--tool <name>', 'the server’s own name of it'),
    {
      call: async (client, options: InSpace & { tool: string }, server) => {
        const { data } = await client.toolServers.get.query(ref(options, server));
        const tool = data.discovered_tools.find(({ name }) => name === options.tool);
        if (tool === undefined) {
          throw new Error('The server has no such tool.');
        }
        return { data: tool };
      },
      show: ({ data: { difference, ...tool } }) =>
        lines(
          `${tool.name}@${tool.schema_hash}\n${JSON.stringify(tool, null, 2)}${difference === null ? '' : `\n\n${difference}`}`,
        ),
    },
  );
  remote(inSpace(group.command('discover').description('have its tools read again').argument(id)), {
    call: (client, options: InSpace, server) => client.toolServers.discover.mutate(ref(options, server)),
    show,
  });
  addConnections(group);
  remote(inSpace(group.command('remove').description('disconnect a server').argument(id)), {
    call: (client, options: InSpace, server) => client.toolServers.remove.mutate(ref(options, server)),
    show: ({ data }) => fields(data),
  });
}

type Enabled = NonNullable<Inputs['toolServers']['update']['enabled_tools']>;

function enabledTools({ enableTool = [], enableAll, enableNone }: Changes): { enabled_tools?: Enabled } {
  if (enableNone === true) {
    return { enabled_tools: [] };
  }
  const tools = [...(enableAll === true ? ['*'] : []), ...enableTool.map(enabledTool)];
  return tools.length === 0 ? {} : { enabled_tools: tools };
}

/** Names may contain an `@`: the part after the last one is a hash only if it has the form of a hash. */
function enabledTool(text: string): Enabled[number] {
  const [, name, hash] = /^(.+)@([0-9a-f]{64})$/.exec(text) ?? [];
  return name === undefined || hash === undefined ? text : { name, schema_hash: hash };
}

function show({ data }: Outputs['toolServers']['get']): string {
  const { discovered_tools: tools, enabled_tools: enabled, ...server } = data;
  const listed = table(tools, {
    tool: (row) => row.name,
    offered: (row) => row.exposed_name,
    state: (row) => row.state,
    hidden: (row) => row.hidden_characters.reduce((sum, { count }) => sum + count, 0),
    repeatable: (row) => row.repeatable,
    approval: (row) => row.require_approval,
  });
  const changed = tools.flatMap(({ name, schema_hash: hash, difference }) =>
    difference === null ? [] : [lines(`\n\n${name}@${hash}\n${difference}`)],
  );
  return `${fields({ ...server, enabled: enabled.join(', ') })}\n\ntools: ${tools.length === 0 ? 'none' : `\n${listed}`}${changed.join('')}`;
}
