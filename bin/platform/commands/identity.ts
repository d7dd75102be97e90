import type { Command } from 'commander';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

interface NewPrincipal {
  type: 'user' | 'service_account' | 'agent';
  name: string;
  email?: string;
}

const who = '<principal_id>';

export function addPrincipals(program: Command): void {
  const group = program.command('principals').description('users, service accounts and agents of the tenant');

  remote(paged(group.command('list')).description('principals, newest first'), {
    call: (client, options: PageOptions) => client.principals.list.query(pageInput(options)),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.id,
          type: (row) => row.type,
          name: (row) => row.name,
          status: (row) => row.status,
        }),
        meta,
      ),
  });
  remote(
    group
      .command('create')
      .description('a principal without any right yet: make it a member of spaces')
      .requiredOption('--type <type>', 'user, service_account or agent')
      .requiredOption('--name <name>', 'its name')
      .option('--email <email>', 'its address'),
    {
      call: (client, { type, name, email }: NewPrincipal) =>
        client.principals.create.mutate({ type, name, ...(email === undefined ? {} : { email }) }),
      show: ({ data }) => fields(data),
    },
  );
  remote(group.command('get').description('one principal').argument(who), {
    call: (client, _options, id) => client.principals.get.query({ principal_id: id }),
    show: ({ data }) => fields(data),
  });
  remote(
    group
      .command('update')
      .description('rename, disable or enable a principal')
      .argument(who)
      .option('--name <name>', 'its name')
      .option('--status <status>', 'active or disabled'),
    {
      call: (client, { name, status }: { name?: string; status?: 'active' | 'disabled' }, id) =>
        client.principals.update.mutate({
          principal_id: id,
          ...(name === undefined ? {} : { name }),
          ...(status === undefined ? {} : { status }),
        }),
      show: ({ data }) => fields(data),
    },
  );
  remote(
    group
      .command('delete')
      .description('delete one with its keys, roles, memberships and what is its own alone')
      .argument(who),
    {
      call: (client, _options, id) => client.principals.delete.mutate({ principal_id: id }),
      show: ({ data }) => fields(data),
    },
  );
  remote(group.command('roles').description('what one holds in the whole tenant').argument(who), {
    call: (client, _options, id) => client.principals.roles.query({ principal_id: id }),
    show: ({ data }) => table(data, { id: (row) => row.id, key: (row) => row.key, name: (row) => row.name }),
  });
  remote(
    group
      .command('assign-role')
      .description('give a role in the whole tenant')
      .argument(who)
      .requiredOption('--role-id <id>', 'a role of tenants, or of the tenant’s own'),
    {
      call: (client, { roleId }: { roleId: string }, id) =>
        client.principals.assignRole.mutate({ principal_id: id, role_id: roleId }),
      show: ({ data }) => fields(data),
    },
  );
  remote(
    group
      .command('unassign-role')
      .description('take it away again')
      .argument(who)
      .requiredOption('--role-id <id>', 'the role'),
    {
      call: (client, { roleId }: { roleId: string }, id) =>
        client.principals.unassignRole.mutate({ principal_id: id, role_id: roleId }),
      show: ({ data }) => fields(data),
    },
  );
}

interface NewKey {
  principal?: string;
  name: string;
  permission?: Permission[];
}

export function addApiKeys(program: Command): void {
  const group = program.command('api-keys').description('API keys of the tenant');

  remote(paged(group.command('list')).description('keys without their secrets, newest first'), {
    call: (client, options: PageOptions) => client.apiKeys.list.query(pageInput(options)),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          key: (row) => row.key_id,
          name: (row) => row.name,
          principal: (row) => row.principal_id,
          expires: (row) => row.expires_at,
          revoked: (row) => row.revoked_at,
        }),
        meta,
      ),
  });
  const id = '<key_id>';
  const place = 'the part between ak. and the second dot';
  remote(group.command('get').description('one key, without its secret').argument(id, place), {
    call: (client, _options, key) => client.apiKeys.get.query({ key_id: key }),
    show: ({ data }) => fields(data),
  });
  remote(
    group
      .command('create')
      .description('a key that is shown once, valid for 90 days')
      .option('--principal <id>', 'whose key; one’s own when not given')
      .requiredOption('--name <name>', 'what it is for')
      .option(
        '--permission <name...>',
        'what it may do at most; everything that its principal may when not given',
      ),
    {
      call: (client, { principal, name, permission }: NewKey) =>
        client.apiKeys.create.mutate({
          name,
          ...(principal === undefined ? {} : { principal_id: principal }),
          ...(permission === undefined ? {} : { permissions: permission }),
        }),
      show: ({ data }) => fields(data),
    },
  );
  remote(group.command('revoke').description('end a key for the very next request').argument(id, place), {
    call: (client, _options, key) => client.apiKeys.revoke.mutate({ key_id: key }),
    show: ({ data }) => fields({ key_id: data.key_id, revoked_at: data.revoked_at }),
  });
}
