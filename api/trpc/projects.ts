import { deleted } from '#api/contract/common.ts';
import {
  projectEnvelope,
  projectMemberEnvelope,
  projectMemberPage,
  projectPage,
} from '#api/contract/workspace.ts';
import * as inputs from '#api/contract/procedures.ts';
import { presentProject, presentProjectMember } from '#api/present/workspace.ts';
import { toPage } from '#api/present/page.ts';
import { addProjectMember } from '#domain/workspace/projects/add-project-member.ts';
import { changeProjectRole } from '#domain/workspace/projects/change-project-role.ts';
import { createProject } from '#domain/workspace/projects/create-project.ts';
import { deleteProject } from '#domain/workspace/projects/delete-project.ts';
import { listProjectMembers } from '#domain/workspace/projects/list-project-members.ts';
import { listProjects, readProject } from '#domain/workspace/projects/read-projects.ts';
import { readProjectMember } from '#domain/workspace/projects/read-project-member.ts';
import { removeProjectMember } from '#domain/workspace/projects/remove-project-member.ts';
import { updateProject } from '#domain/workspace/projects/update-project.ts';
import { procedure, reads, router } from './trpc.ts';

export const projects = router({
  list: procedure({ permission: 'projects.read', audit: reads })
    .input(inputs.spaceListInput)
    .output(projectPage)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, limit, cursor } }) => {
      const page = await request.inContext(spaceId, (ctx) =>
        listProjects(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentProject) });
    }),

  get: procedure({ permission: 'projects.read', audit: reads })
    .input(inputs.projectInput)
    .output(projectEnvelope)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, project_id: projectId } }) => ({
      data: presentProject(await request.inContext(spaceId, (ctx) => readProject(ctx, { projectId }))),
    })),

  create: procedure({ permission: 'projects.create', audit: ['space.project_created'] })
    .input(inputs.createProjectInput)
    .output(projectEnvelope)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, name, description } }) => {
      const { project } = await request.inContext(spaceId, (ctx) =>
        createProject(ctx, { name, description: description ?? null }),
      );
      return { data: presentProject(project) };
    }),

  update: procedure({ permission: 'projects.update', audit: ['space.project_updated'] })
    .input(inputs.updateProjectInput)
    .output(projectEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, project_id: projectId, ...change } = input;
      const project = await request.inContext(spaceId, (ctx) => updateProject(ctx, { projectId, ...change }));
      return { data: presentProject(project) };
    }),

  delete: procedure({ permission: 'projects.delete', audit: ['space.project_deleted'] })
    .input(inputs.projectInput)
    .output(deleted)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, project_id: projectId } }) => {
      await request.inContext(spaceId, (ctx) => deleteProject(ctx, { projectId }));
      return { data: { id: projectId, deleted: true as const } };
    }),
});

export const projectMembers = router({
  list: procedure({ permission: 'project_members.read', audit: reads })
    .input(inputs.projectListInput)
    .output(projectMemberPage)
    .query(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, project_id: projectId, limit, cursor } = input;
      const page = await request.inContext(spaceId, (ctx) =>
        listProjectMembers(ctx, { projectId, limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentProjectMember) });
    }),

  get: procedure({ permission: 'project_members.read', audit: reads })
    .input(inputs.projectMemberInput)
    .output(projectMemberEnvelope)
    .query(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, project_id: projectId, member_id: memberId } = input;
      const member = await request.inContext(spaceId, (ctx) =>
        readProjectMember(ctx, { projectId, memberId }),
      );
      return { data: presentProjectMember(member) };
    }),

  add: procedure({ permission: 'project_members.add', audit: ['space.project_member_added'] })
    .input(inputs.addProjectMemberInput)
    .output(projectMemberEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const added = await request.inContext(input.space_id, (ctx) =>
        addProjectMember(ctx, {
          projectId: input.project_id,
          principalId: input.principal_id,
          roleId: input.role_id,
        }),
      );
      return { data: presentProjectMember(added) };
    }),

  changeRole: procedure({ permission: 'project_members.update', audit: ['space.project_role_changed'] })
    .input(inputs.changeProjectRoleInput)
    .output(projectMemberEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const changed = await request.inContext(input.space_id, (ctx) =>
        changeProjectRole(ctx, {
          projectId: input.project_id,
          memberId: input.member_id,
          roleId: input.role_id,
        }),
      );
      return { data: presentProjectMember(changed) };
    }),

  remove: procedure({ permission: 'project_members.remove', audit: ['space.project_member_removed'] })
    .input(inputs.projectMemberInput)
    .output(deleted)
    .mutation(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, project_id: projectId, member_id: id } = input;
      await request.inContext(spaceId, (ctx) => removeProjectMember(ctx, { projectId, memberId: id }));
      return { data: { id, deleted: true as const } };
    }),
});
