import type { Command } from 'commander';
import type { InviteStatus } from '#domain/workspace/invites/invite-status.ts';
import type { Outputs } from '../connect.ts';
import { inSpace, type InSpace } from '../in-space.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

const id = '<invite_id>';
const ref = ({ space }: InSpace, invite: string) => ({ space_id: space, invite_id: invite });
const show = ({ data }: Outputs['invites']['get']) => fields(data);

export function addInvites(program: Command): void {
  const group = program.command('invites').description('invites into a space, good for seven days');

  remote(
    inSpace(paged(group.command('list')).description('invites, newest first')).option(
      '--status <status>',
      'pending, accepted, declined, revoked or expired',
    ),
    {
      call: (client, { space, status, ...page }: InSpace & PageOptions & { status?: InviteStatus }) =>
        client.invites.list.query({
          space_id: space,
          ...pageInput(page),
          ...(status === undefined ? {} : { status }),
        }),
      show: ({ data, meta }) =>
        withNext(
          table(data, {
            id: (row) => row.id,
            email: (row) => row.email,
            role: (row) => row.role,
            status: (row) => row.status,
            expires: (row) => row.expires_at,
          }),
          meta,
        ),
    },
  );
  remote(paged(group.command('own')).description('one’s own pending invites, newest first'), {
    call: (client, page: PageOptions) => client.invites.own.query(pageInput(page)),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.id,
          space: (row) => row.space_id,
          name: (row) => row.space_name,
          role: (row) => row.role,
          expires: (row) => row.expires_at,
        }),
        meta,
      ),
  });
  remote(inSpace(group.command('get').description('one invite').argument(id)), {
    call: (client, options: InSpace, invite) => client.invites.get.query(ref(options, invite)),
    show,
  });
  remote(
    inSpace(group.command('create'))
      .description('invite an address')
      .requiredOption('--email <email>', 'whom')
      .option('--role-id <id>', 'space_member when not given'),
    {
      call: (client, { space, email, roleId }: InSpace & { email: string; roleId?: string }) =>
        client.invites.create.mutate({
          space_id: space,
          email,
          ...(roleId === undefined ? {} : { role_id: roleId }),
        }),
      show,
    },
  );
  remote(inSpace(group.command('accept').description('become a member, as the invited').argument(id)), {
    call: (client, options: InSpace, invite) => client.invites.accept.mutate(ref(options, invite)),
    show,
  });
  remote(inSpace(group.command('decline').description('say no, as the invited').argument(id)), {
    call: (client, options: InSpace, invite) => client.invites.decline.mutate(ref(options, invite)),
    show,
  });
  remote(inSpace(group.command('revoke').description('take a pending invite back').argument(id)), {
    call: (client, options: InSpace, invite) => client.invites.revoke.mutate(ref(options, invite)),
    show,
  });
}
