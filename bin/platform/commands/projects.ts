import type { Command } from 'commander';
import type { Outputs } from '../connect.ts';
import { inSpace, type InSpace } from '../in-space.ts';
import { fields, table } from '../print.ts';
import { paged, pageInput, remote, withNext, type PageOptions } from '../remote.ts';

interface InProject extends InSpace {
  project: string;
}

const inProject = (command: Command): Command =>
  inSpace(command).requiredOption('--project <id>', 'the project');
const ref = ({ space, project }: InProject) => ({ space_id: space, project_id: project });
const show = ({ data }: Outputs['projects']['get']) => fields(data);
const showMember = ({ data }: Outputs['projectMembers']['get']) => fields(data);

export function addProjects(program: Command): void {
  const group = program.command('projects').description('projects of a space');
  const id = '<project_id>';

  remote(inSpace(paged(group.command('list')).description('projects, newest first')), {
    call: (client, { space, ...page }: InSpace & PageOptions) =>
      client.projects.list.query({ space_id: space, ...pageInput(page) }),
    show: ({ data, meta }) =>
      withNext(
        table(data, { id: (row) => row.id, name: (row) => row.name, created: (row) => row.created_at }),
        meta,
      ),
  });
  remote(inSpace(group.command('get').description('one project').argument(id)), {
    call: (client, { space }: InSpace, project) => client.projects.get.query(ref({ space, project })),
    show,
  });
  remote(
    inSpace(group.command('create'))
      .description('a project, which its creator administers')
      .requiredOption('--name <name>', 'its name')
      .option('--description <text>', 'what it is for'),
    {
      call: (client, { space, name, description }: InSpace & { name: string; description?: string }) =>
        client.projects.create.mutate({
          space_id: space,
          name,
          ...(description === undefined ? {} : { description }),
        }),
      show,
    },
  );
  remote(
    inSpace(group.command('update').description('change a name or a description').argument(id))
      .option('--name <name>', 'its name')
      .option('--description <text>', 'what it is for'),
    {
      call: (client, options: InSpace & { name?: string; description?: string }, project) => {
        const { space, name, description } = options;
        return client.projects.update.mutate({
          ...ref({ space, project }),
          ...(name === undefined ? {} : { name }),
          ...(description === undefined ? {} : { description }),
        });
      },
      show,
    },
  );
  remote(inSpace(group.command('delete').description('delete one; its threads stay').argument(id)), {
    call: (client, { space }: InSpace, project) => client.projects.delete.mutate(ref({ space, project })),
    show: ({ data }) => fields(data),
  });
}

export function addProjectMembers(program: Command): void {
  const group = program.command('project-members').description('who may do what in a project');
  const id = '<member_id>';

  remote(inProject(paged(group.command('list')).description('members, newest first')), {
    call: (client, options: InProject & PageOptions) =>
      client.projectMembers.list.query({ ...ref(options), ...pageInput(options) }),
    show: ({ data, meta }) =>
      withNext(
        table(data, { id: (row) => row.id, principal: (row) => row.principal_id, role: (row) => row.role }),
        meta,
      ),
  });
  remote(inProject(group.command('get').description('one member').argument(id)), {
    call: (client, options: InProject, member) =>
      client.projectMembers.get.query({ ...ref(options), member_id: member }),
    show: showMember,
  });
  remote(
    inProject(group.command('add'))
      .description('give a member of the space a role in a project')
      .requiredOption('--principal <id>', 'who')
      .requiredOption('--role-id <id>', 'a role of projects, or of the tenant’s own'),
    {
      call: (client, options: InProject & { principal: string; roleId: string }) =>
        client.projectMembers.add.mutate({
          ...ref(options),
          principal_id: options.principal,
          role_id: options.roleId,
        }),
      show: showMember,
    },
  );
  remote(
    inProject(group.command('set-role').description('give another role').argument(id)).requiredOption(
      '--role-id <id>',
      'the new role',
    ),
    {
      call: (client, options: InProject & { roleId: string }, member) =>
        client.projectMembers.changeRole.mutate({
          ...ref(options),
          member_id: member,
          role_id: options.roleId,
        }),
      show: showMember,
    },
  );
  remote(inProject(group.command('remove').description('end a membership').argument(id)), {
    call: (client, options: InProject, member) =>
      client.projectMembers.remove.mutate({ ...ref(options), member_id: member }),
    show: ({ data }) => fields(data),
  });
}
