import '#api/plugins/route-config.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { z } from 'zod';
import { createHeaders } from '#api/contract/identity.ts';
import { errorResponses, spaceParams } from '#api/contract/common.ts';
import * as contract from '#api/contract/workspace.ts';
import { presentInvite, presentOwnInvite } from '#api/present/workspace.ts';
import { toPage } from '#api/present/page.ts';
import type { Context } from '#domain/foundation/access/context.ts';
import { acceptInvite, declineInvite } from '#domain/workspace/invites/answer-invite.ts';
import { createInvite } from '#domain/workspace/invites/create-invite.ts';
import type { InviteView } from '#domain/workspace/invites/invite-view.ts';
import { listOwnInvites } from '#domain/workspace/invites/list-own-invites.ts';
import { listInvites, readInvite } from '#domain/workspace/invites/read-invites.ts';
import { revokeInvite } from '#domain/workspace/invites/revoke-invite.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Invites'];
const reads = { none: 'reads' };

export async function inviteRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    '/spaces/:space_id/invites',
    {
      config: { permission: 'invites.create', audit: ['space.invite_created', 'space.invite_expired'] },
      schema: {
        tags,
        operationId: 'createInvite',
        summary: 'Invite an address into a space for seven days',
        params: spaceParams,
        headers: createHeaders,
        body: contract.createInviteBody,
        response: { 200: contract.inviteEnvelope, 201: contract.inviteEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { params, headers, body } = request;
      const path = `/v1/spaces/${params.space_id}/invites`;
      const made = await request.inContext(params.space_id, (ctx) =>
        createInvite(ctx, {
          email: body.email,
          roleId: body.role_id,
          idempotency: idempotencyOf(headers['idempotency-key'], path, body),
        }),
      );
      markCreated(reply, made.replayed);
      return { data: presentInvite(made) };
    },
  );

  app.get(
    '/spaces/:space_id/invites',
    {
      config: { permission: 'invites.read', audit: reads },
      schema: {
        tags,
        operationId: 'listInvites',
        summary: 'List the invites into a space, newest first',
        params: spaceParams,
        querystring: contract.listInvitesQuery,
        response: { 200: contract.invitePage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor, status } = request.query;
      const page = await request.inContext(request.params.space_id, (ctx) =>
        listInvites(ctx, { limit, cursor: cursor ?? null, status: status ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentInvite) });
    },
  );

  app.get(
    '/invites',
    {
      config: { permission: 'invites.read', own: 'one’s own invites', audit: reads },
      schema: {
        tags,
        operationId: 'listOwnInvites',
        summary: 'List the caller’s pending invites, newest first',
        description: 'Invites to the caller’s verified address, into any space.',
        querystring: contract.listOwnInvitesQuery,
        response: { 200: contract.ownInvitePage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(null, (ctx) =>
        listOwnInvites(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentOwnInvite) });
    },
  );

  app.get(
    '/spaces/:space_id/invites/:invite_id',
    {
      config: { permission: 'invites.read', audit: reads },
      schema: {
        tags,
        operationId: 'getInvite',
        summary: 'Read an invite',
        params: contract.inviteParams,
        response: { 200: contract.inviteEnvelope, ...errorResponses },
      },
    },
    async (request) => showAfter(request, readInvite),
  );

  app.post(
    '/spaces/:space_id/invites/:invite_id/accept',
    {
      config: { own: 'one’s own invites', audit: ['space.invite_accepted', 'space.member_added'] },
      schema: {
        tags,
        operationId: 'acceptInvite',
        summary: 'Accept an invite',
        description:
          'For the principal with the invited, verified address, with an unrestricted key or a key that has `members.add`. A repeated request changes nothing.',
        params: contract.inviteParams,
        response: { 200: contract.inviteEnvelope, ...errorResponses },
      },
    },
    async (request) => showAfter(request, acceptInvite),
  );

  app.post(
    '/spaces/:space_id/invites/:invite_id/decline',
    {
      config: { own: 'one’s own invites', audit: ['space.invite_declined'] },
      schema: {
        tags,
        operationId: 'declineInvite',
        summary: 'Decline an invite',
        description:
          'For the principal with the invited, verified address, with an unrestricted key or a key that has `invites.revoke`. A repeated request changes nothing.',
        params: contract.inviteParams,
        response: { 200: contract.inviteEnvelope, ...errorResponses },
      },
    },
    async (request) => showAfter(request, declineInvite),
  );

  app.post(
    '/spaces/:space_id/invites/:invite_id/revoke',
    {
      config: { permission: 'invites.revoke', audit: ['space.invite_revoked'] },
      schema: {
        tags,
        operationId: 'revokeInvite',
        summary: 'Revoke a pending invite',
        params: contract.inviteParams,
        response: { 200: contract.inviteEnvelope, ...errorResponses },
      },
    },
    async (request) => showAfter(request, revokeInvite),
  );
}

type InviteRequest = Pick<FastifyRequest, 'inContext'> & { params: z.infer<typeof contract.inviteParams> };

/** The invite that the path names, after `operation`. */
async function showAfter(
  request: InviteRequest,
  operation: (ctx: Context, input: { inviteId: string }) => Promise<InviteView>,
) {
  const { space_id: spaceId, invite_id: inviteId } = request.params;
  const invite = await request.inContext(spaceId, (ctx) => operation(ctx, { inviteId }));
  return { data: presentInvite(invite) };
}
