import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { createHeaders, listQuery } from '#api/contract/identity.ts';
import { memberEnvelope, memberPage } from '#api/contract/administration.ts';
import { deleted, errorResponses, spaceParams } from '#api/contract/common.ts';
import * as contract from '#api/contract/workspace.ts';
import { presentMember } from '#api/present/workspace.ts';
import { toPage } from '#api/present/page.ts';
import { addMember } from '#domain/workspace/members/add-member.ts';
import { changeMemberRole } from '#domain/workspace/members/change-member-role.ts';
import { listMembers } from '#domain/workspace/members/list-members.ts';
import { readMember } from '#domain/workspace/members/read-member.ts';
import { removeMember } from '#domain/workspace/members/remove-member.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Members'];
const reads = { none: 'reads' };

export async function memberRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    '/spaces/:space_id/members',
    {
      config: { permission: 'members.add', audit: ['space.member_added'] },
      schema: {
        tags,
        operationId: 'addMember',
        summary: 'Add a principal of the tenant to a space',
        params: spaceParams,
        headers: createHeaders,
        body: contract.addMemberBody,
        response: { 200: memberEnvelope, 201: memberEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { params, headers, body } = request;
      const path = `/v1/spaces/${params.space_id}/members`;
      const added = await request.inContext(params.space_id, (ctx) =>
        addMember(ctx, {
          principalId: body.principal_id,
          roleId: body.role_id,
          idempotency: idempotencyOf(headers['idempotency-key'], path, body),
        }),
      );
      markCreated(reply, added.replayed);
      return { data: presentMember(added) };
    },
  );

  app.get(
    '/spaces/:space_id/members',
    {
      config: { permission: 'members.read', audit: reads },
      schema: {
        tags,
        operationId: 'listMembers',
        summary: 'List the members of a space, newest first',
        params: spaceParams,
        querystring: listQuery,
        response: { 200: memberPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(request.params.space_id, (ctx) =>
        listMembers(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentMember) });
    },
  );

  app.get(
    '/spaces/:space_id/members/:member_id',
    {
      config: { permission: 'members.read', audit: reads },
      schema: {
        tags,
        operationId: 'getMember',
        summary: 'Read a member of a space',
        params: contract.memberParams,
        response: { 200: memberEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, member_id: memberId } = request.params;
      const member = await request.inContext(spaceId, (ctx) => readMember(ctx, { memberId }));
      return { data: presentMember(member) };
    },
  );

  app.patch(
    '/spaces/:space_id/members/:member_id',
    {
      config: { permission: 'members.add', audit: ['space.member_role_changed'] },
      schema: {
        tags,
        operationId: 'changeMemberRole',
        summary: 'Change the role of a member of a space',
        params: contract.memberParams,
        body: contract.changeRoleBody,
        response: { 200: memberEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, member_id: memberId } = request.params;
      const { role_id: roleId } = request.body;
      const changed = await request.inContext(spaceId, (ctx) => changeMemberRole(ctx, { memberId, roleId }));
      return { data: presentMember(changed) };
    },
  );

  app.delete(
    '/spaces/:space_id/members/:member_id',
    {
      config: {
        permission: 'members.remove',
        audit: [
          'space.member_removed',
          'space.invite_revoked',
          'space.invite_expired',
          'security.mcp_auth_revoked',
        ],
      },
      schema: {
        tags,
        operationId: 'removeMember',
        summary: 'Remove a member from a space and its projects',
        params: contract.memberParams,
        response: { 200: deleted, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, member_id: id } = request.params;
      await request.inContext(spaceId, (ctx) => removeMember(ctx, { id }));
      return { data: { id, deleted: true as const } };
    },
  );
}
