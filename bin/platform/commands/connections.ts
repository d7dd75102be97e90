import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import type { Client, Outputs } from '../connect.ts';
import { inSpace, type InSpace } from '../in-space.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

const id = '<server_id>';
const ref = ({ space }: InSpace, server: string) => ({ space_id: space, server_id: server });
/** As long as a popup is open. */
const waitMs = 600_000;

/** Commands of the group `tool-servers` about accounts at a server. */
export function addConnections(group: Command): void {
  addPopup(group, {
    connect: group
      .command('connect')
      .description('connect your account: prints a link for your browser, and waits for the code at its end')
      .option(
        '--register-again',
        'where the page that the link leads to does not know this platform any more',
      )
      .argument(id),
    begin: (client, { registerAgain }: { registerAgain?: boolean }, server) =>
      client.connections.initiate.mutate({
        server_id: server,
        ...(registerAgain === true ? { register_again: 'true' as const } : {}),
      }),
  });
  remote(inSpace(group.command('connection').description('your connection to a server').argument(id)), {
    call: (client, options: InSpace, server) => client.connections.get.query(ref(options, server)),
    show: ({ data }) => fields(data),
  });
  remote(inSpace(group.command('disconnect').description('revoke and erase your connection').argument(id)), {
    call: (client, options: InSpace, server) => client.connections.disconnect.mutate(ref(options, server)),
    show: ({ data }) => fields(data),
  });
  remote(
    inSpace(paged(group.command('connected')).description('who is connected to a server').argument(id)),
    {
      call: (client, { space, ...page }: InSpace & PageOptions, server) =>
        client.connections.list.query({ space_id: space, server_id: server, ...pageInput(page) }),
      show: ({ data, meta }) =>
        withNext(
          table(data, {
            principal: (row) => row.principal_id ?? 'the space',
            by: (row) => `${row.connected_by}${row.connected_by_is_member ? '' : ' (no member)'}`,
            status: (row) => row.status,
            since: (row) => row.connected_at,
          }),
          meta,
        ),
    },
  );
}

interface PopupCommand<Options> {
  connect: Command;
  /** @param holder its tool server or connector */
  begin: (client: Client, options: Options, holder: string) => Promise<Outputs['connections']['initiate']>;
}

/** `connect`, which begins a popup and waits for the code at its end, and `complete`, which takes that. */
export function addPopup<Options>(group: Command, { connect, begin }: PopupCommand<Options>): void {
  remote(connect, {
    call: async (client, options: Options, holder) => {
      const begun = await begin(client, options, holder);
      const handle = await askFor(group, begun.data.popup_url);
      return handle === null ? begun : client.connections.complete.mutate({ handle });
    },
    show: ({ data }) => fields(data),
  });
  remote(
    group.command('complete').description('connect with the code of the link’s end').argument('<handle>'),
    {
      call: (client, _options: object, handle) => client.connections.complete.mutate({ handle }),
      show: ({ data }) => fields(data),
    },
  );
}

/** @returns null where nobody sits at the terminal: `complete` takes the code then */
async function askFor(group: Command, link: string): Promise<string | null> {
  if (!process.stdin.isTTY) {
    return null;
  }
  group.configureOutput().writeErr?.(`Open this in your browser:\n\n  ${link}\n\n`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const signal = AbortSignal.timeout(waitMs);
    return (await terminal.question('The code that it shows at the end: ', { signal })).trim();
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') {
      throw new Error('No code came within ten minutes, and the link has ended. Run the command again.', {
        cause: error,
      });
    }
    throw error;
  } finally {
    terminal.close();
  }
}
