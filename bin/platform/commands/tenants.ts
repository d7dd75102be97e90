import type { Command } from 'commander';
import type { Outputs } from '../connect.ts';
import { fields, table } from '../print.ts';
import { addTenantDeletion } from './tenant-deletion.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

const show = ({ data }: Outputs['tenants']['get']) => fields(data);

export function addTenants(program: Command): void {
  const group = program
    .command('tenants')
    .description('tenants: all of them for an operator, else one’s own');

  remote(paged(group.command('list')).description('tenants, newest first'), {
    call: (client, options: PageOptions) => client.tenants.list.query(pageInput(options)),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.id,
          slug: (row) => row.slug,
          name: (row) => row.name,
          status: (row) => row.status,
          created: (row) => row.created_at,
        }),
        meta,
      ),
  });
  remote(group.command('get').description('one tenant').argument('<tenant_id>'), {
    call: (client, _options, id) => client.tenants.get.query({ tenant_id: id }),
    show,
  });
  remote(
    group
      .command('create')
      .description('a tenant with an owner, a space and the builtin model; its key is shown once')
      .requiredOption('--slug <slug>', 'short name: lower case, digits and dashes')
      .requiredOption('--name <name>', 'full name'),
    {
      call: (client, { slug, name }: { slug: string; name: string }) =>
        client.tenants.create.mutate({ slug, name }),
      show: ({ data }) => fields(data),
    },
  );
  remote(
    group
      .command('update')
      .description('rename a tenant')
      .argument('<tenant_id>')
      .requiredOption('--name <name>', 'full name'),
    {
      call: (client, { name }: { name: string }, id) => client.tenants.update.mutate({ tenant_id: id, name }),
      show,
    },
  );
  remote(group.command('suspend').description('cut a tenant’s access').argument('<tenant_id>'), {
    call: (client, _options, id) => client.tenants.suspend.mutate({ tenant_id: id }),
    show,
  });
  addTenantDeletion(group);
  remote(group.command('resume').description('give it back').argument('<tenant_id>'), {
    call: (client, _options, id) => client.tenants.resume.mutate({ tenant_id: id }),
    show,
  });
}
