import type { Command } from 'commander';
import type { Permission } from '#domain/access/permissions.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

interface NewPrincipal {
  type: 'user' | 'service_account' | 'agent';
  name: string;
  email?: string;
}

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
}

interface NewKey {
  principal: string;
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
  remote(
    group
      .command('create')
      .description('a key that is shown once, valid for 90 days')
      .requiredOption('--principal <id>', 'whose key')
      .requiredOption('--name <name>', 'what it is for')
      .option(
        '--permission <name...>',
        'what it may do at most; everything that its principal may when not given',
      ),
    {
      call: (client, { principal, name, permission }: NewKey) =>
        client.apiKeys.create.mutate({
          principal_id: principal,
          name,
          ...(permission === undefined ? {} : { permissions: permission }),
        }),
      show: ({ data }) => fields(data),
    },
  );
  remote(
    group
      .command('revoke')
      .description('end a key for the very next request')
      .argument('<key_id>', 'the part between ak. and the second dot'),
    {
      call: (client, _options, id) => client.apiKeys.revoke.mutate({ key_id: id }),
      show: ({ data }) => fields({ key_id: data.key_id, revoked_at: data.revoked_at }),
    },
  );
}
