import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { createHeaders, listQuery } from '#api/contract/identity.ts';
import { deleted, errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/workspace.ts';
import { presentProjectMember } from '#api/present/workspace.ts';
import { toPage } from '#api/present/page.ts';
import { addProjectMember } from '#domain/workspace/projects/add-project-member.ts';
import { changeProjectRole } from '#domain/workspace/projects/change-project-role.ts';
import { listProjectMembers } from '#domain/workspace/projects/list-project-members.ts';
import { readProjectMember } from '#domain/workspace/projects/read-project-member.ts';
import { removeProjectMember } from '#domain/workspace/projects/remove-project-member.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Project members'];
const reads = { none: 'reads' };

export async function projectMemberRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    '/spaces/:space_id/projects/:project_id/members',
    {
      config: { permission: 'project_members.add', audit: ['space.project_member_added'] },
      schema: {
        tags,
        operationId: 'addProjectMember',
        summary: 'Add a member of the space to a project',
        params: contract.projectParams,
        headers: createHeaders,
        body: contract.addProjectMemberBody,
        response: {
          200: contract.projectMemberEnvelope,
          201: contract.projectMemberEnvelope,
          ...errorResponses,
        },
      },
    },
    async (request, reply) => {
      const { params, headers, body } = request;
      const path = `/v1/spaces/${params.space_id}/projects/${params.project_id}/members`;
      const added = await request.inContext(params.space_id, (ctx) =>
        addProjectMember(ctx, {
          projectId: params.project_id,
          principalId: body.principal_id,
          roleId: body.role_id,
          idempotency: idempotencyOf(headers['idempotency-key'], path, body),
        }),
      );
      markCreated(reply, added.replayed);
      return { data: presentProjectMember(added) };
    },
  );

  app.get(
    '/spaces/:space_id/projects/:project_id/members',
    {
      config: { permission: 'project_members.read', audit: reads },
      schema: {
        tags,
        operationId: 'listProjectMembers',
        summary: 'List the members of a project, newest first',
        params: contract.projectParams,
        querystring: listQuery,
        response: { 200: contract.projectMemberPage, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, project_id: projectId } = request.params;
      const { limit, cursor } = request.query;
      const page = await request.inContext(spaceId, (ctx) =>
        listProjectMembers(ctx, { projectId, limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentProjectMember) });
    },
  );

  app.get(
    '/spaces/:space_id/projects/:project_id/members/:member_id',
    {
      config: { permission: 'project_members.read', audit: reads },
      schema: {
        tags,
        operationId: 'getProjectMember',
        summary: 'Read a member of a project',
        params: contract.projectMemberParams,
        response: { 200: contract.projectMemberEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, project_id: projectId, member_id: memberId } = request.params;
      const member = await request.inContext(spaceId, (ctx) =>
        readProjectMember(ctx, { projectId, memberId }),
      );
      return { data: presentProjectMember(member) };
    },
  );

  app.patch(
    '/spaces/:space_id/projects/:project_id/members/:member_id',
    {
      config: { permission: 'project_members.update', audit: ['space.project_role_changed'] },
      schema: {
        tags,
        operationId: 'changeProjectRole',
        summary: 'Change the role of a member of a project',
        params: contract.projectMemberParams,
        body: contract.changeRoleBody,
        response: { 200: contract.projectMemberEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, project_id: projectId, member_id: memberId } = request.params;
      const { role_id: roleId } = request.body;
      const changed = await request.inContext(spaceId, (ctx) =>
        changeProjectRole(ctx, { projectId, memberId, roleId }),
      );
      return { data: presentProjectMember(changed) };
    },
  );

  app.delete(
    '/spaces/:space_id/projects/:project_id/members/:member_id',
    {
      config: { permission: 'project_members.remove', audit: ['space.project_member_removed'] },
      schema: {
        tags,
        operationId: 'removeProjectMember',
        summary: 'Remove a member from a project',
        params: contract.projectMemberParams,
        response: { 200: deleted, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, project_id: projectId, member_id: id } = request.params;
      await request.inContext(spaceId, (ctx) => removeProjectMember(ctx, { projectId, memberId: id }));
      return { data: { id, deleted: true as const } };
    },
  );
}
