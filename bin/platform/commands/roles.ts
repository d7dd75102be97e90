import type { Command } from 'commander';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import type { Outputs } from '../connect.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

const id = '<role_id>';
const show = ({ data }: Outputs['roles']['get']) => fields(data);
const change = ({ name, description }: { name?: string; description?: string }) => ({
  ...(name === undefined ? {} : { name }),
  ...(description === undefined ? {} : { description }),
});

export function addRoles(program: Command): void {
  const group = program.command('roles').description('roles of the tenant, and what they permit');

  remote(paged(group.command('list')).description('roles, newest first, and behind them the built-in ones'), {
    call: (client, options: PageOptions) => client.roles.list.query(pageInput(options)),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.id,
          key: (row) => row.key,
          name: (row) => row.name,
          scope: (row) => row.scope,
          permissions: (row) => row.permissions.length,
        }),
        meta,
      ),
  });
  remote(group.command('get').description('one role with what it permits').argument(id), {
    call: (client, _options, role) => client.roles.get.query({ role_id: role }),
    show,
  });
  remote(
    group
      .command('create')
      .description('a role without permissions')
      .argument('<key>', 'lower case, digits and underscores')
      .requiredOption('--name <name>', 'its name')
      .option('--description <text>', 'what it is for'),
    {
      call: (client, options: { name: string; description?: string }, key) =>
        client.roles.create.mutate({ key, name: options.name, ...change(options) }),
      show,
    },
  );
  remote(
    group
      .command('update')
      .description('change a name or a description')
      .argument(id)
      .option('--name <name>', 'its name')
      .option('--description <text>', 'what it is for'),
    {
      call: (client, options: { name?: string; description?: string }, role) =>
        client.roles.update.mutate({ role_id: role, ...change(options) }),
      show,
    },
  );
  remote(
    group
      .command('set-permissions')
      .description('replace what a role permits; nothing when none is given')
      .argument(id)
      .option('--permission <name...>', 'every permission that it holds from now on'),
    {
      call: (client, { permission }: { permission?: Permission[] }, role) =>
        client.roles.setPermissions.mutate({ role_id: role, permissions: permission ?? [] }),
      show,
    },
  );
  remote(group.command('delete').description('delete a role that nobody holds').argument(id), {
    call: (client, _options, role) => client.roles.delete.mutate({ role_id: role }),
    show: ({ data }) => fields(data),
  });
}
