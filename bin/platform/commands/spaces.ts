import type { Command } from 'commander';
import type { MemberRole } from '#domain/workspace/members/member-roles.ts';
import type { OpenAiTools } from '#domain/workspace/spaces/openai-tools.ts';
import { inSpace, type InSpace } from '../in-space.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

export function addSpaces(program: Command): void {
  const group = program.command('spaces').description('spaces of the tenant, and the models they allow');

  remote(paged(group.command('list')).description('spaces, newest first'), {
    call: (client, options: PageOptions) => client.spaces.list.query(pageInput(options)),
    show: ({ data, meta }) =>
      withNext(
        table(data, { id: (row) => row.id, name: (row) => row.name, created: (row) => row.created_at }),
        meta,
      ),
  });
  remote(
    group
      .command('create')
      .description('a space that the key’s principal administers; `set-models` chooses its models')
      .requiredOption('--name <name>', 'its name'),
    {
      call: (client, { name }: { name: string }) => client.spaces.create.mutate({ name }),
      show: ({ data }) => fields(data),
    },
  );
  remote(group.command('get').description('one space').argument('<space_id>'), {
    call: (client, _options, id) => client.spaces.get.query({ space_id: id }),
    show: ({ data }) => fields(data),
  });
  remote(
    group
      .command('update')
      .description('change a space')
      .argument('<space_id>')
      .option('--name <name>', 'its name')
      .option(
        '--openai-tools <which>',
        'what OpenAI clients that name no tools are offered: asked or granted',
      ),
    {
      call: (client, options: { name?: string; openaiTools?: OpenAiTools }, id) =>
        client.spaces.update.mutate({ space_id: id, name: options.name, openai_tools: options.openaiTools }),
      show: ({ data }) => fields(data),
    },
  );
  remote(group.command('delete').description('delete a space with everything in it').argument('<space_id>'), {
    call: (client, _options, id) => client.spaces.delete.mutate({ space_id: id }),
    show: ({ data }) => fields(data),
  });
  remote(inSpace(group.command('models').description('the models that a space allows')), {
    call: (client, { space }: InSpace) => client.spaces.models.query({ space_id: space }),
    show: ({ data }) => fields({ models: data.models.join(', '), default: data.default_model }),
  });
  remote(
    inSpace(group.command('set-models'))
      .description('replace the models that a space allows')
      .requiredOption('--model <alias...>', 'every model that it allows from now on')
      .requiredOption('--default <alias>', 'the one that is used when none is named'),
    {
      call: (client, options: InSpace & { model: string[]; default: string }) =>
        client.spaces.setModels.mutate({
          space_id: options.space,
          models: options.model,
          default_model: options.default,
        }),
      show: ({ data }) => fields({ models: data.models.join(', '), default: data.default_model }),
    },
  );
}

export function addMembers(program: Command): void {
  const group = program.command('members').description('who may do what in a space');

  remote(inSpace(paged(group.command('list')).description('members of a space, newest first')), {
    call: (client, { space, ...page }: InSpace & PageOptions) =>
      client.members.list.query({ space_id: space, ...pageInput(page) }),
    show: ({ data, meta }) =>
      withNext(
        table(data, {
          id: (row) => row.id,
          principal: (row) => row.principal_id,
          role: (row) => row.role,
          since: (row) => row.created_at,
        }),
        meta,
      ),
  });
  remote(inSpace(group.command('get').description('one member').argument('<member_id>')), {
    call: (client, { space }: InSpace, member) =>
      client.members.get.query({ space_id: space, member_id: member }),
    show: ({ data }) => fields(data),
  });
  remote(
    inSpace(group.command('add'))
      .description('make a principal a member')
      .requiredOption('--principal <id>', 'who')
      .option('--role <role>', 'space_admin, space_editor, space_member or space_viewer')
      .option('--role-id <id>', 'any role that can be given in a space, by its id'),
    {
      call: (client, options: InSpace & { principal: string; role?: MemberRole; roleId?: string }) =>
        client.members.add.mutate({
          space_id: options.space,
          principal_id: options.principal,
          ...(options.role === undefined ? {} : { role: options.role }),
          ...(options.roleId === undefined ? {} : { role_id: options.roleId }),
        }),
      show: ({ data }) => fields(data),
    },
  );
  remote(
    inSpace(
      group.command('set-role').description('give another role').argument('<member_id>'),
    ).requiredOption('--role-id <id>', 'the new role'),
    {
      call: (client, { space, roleId }: InSpace & { roleId: string }, id) =>
        client.members.changeRole.mutate({ space_id: space, member_id: id, role_id: roleId }),
      show: ({ data }) => fields(data),
    },
  );
  remote(
    inSpace(group.command('remove'))
      .description('end a membership')
      .requiredOption('--principal <id>', 'whose'),
    {
      call: (client, options: InSpace & { principal: string }) =>
        client.members.remove.mutate({ space_id: options.space, principal_id: options.principal }),
      show: ({ data }) => fields(data),
    },
  );
}
