import { inviteEnvelope, invitePage, ownInvitePage } from '#api/contract/workspace.ts';
import * as inputs from '#api/contract/procedures.ts';
import { presentInvite, presentOwnInvite } from '#api/present/workspace.ts';
import { toPage } from '#api/present/page.ts';
import { acceptInvite, declineInvite } from '#domain/workspace/invites/answer-invite.ts';
import { createInvite } from '#domain/workspace/invites/create-invite.ts';
import { listOwnInvites } from '#domain/workspace/invites/list-own-invites.ts';
import { listInvites, readInvite } from '#domain/workspace/invites/read-invites.ts';
import { revokeInvite } from '#domain/workspace/invites/revoke-invite.ts';
import { procedure, reads, router } from './trpc.ts';

const own = 'one’s own invites';

export const invites = router({
  list: procedure({ permission: 'invites.read', audit: reads })
    .input(inputs.listInvitesInput)
    .output(invitePage)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, status, limit, cursor } }) => {
      const page = await request.inContext(spaceId, (ctx) =>
        listInvites(ctx, { limit, cursor: cursor ?? null, status: status ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentInvite) });
    }),

  own: procedure({ permission: 'invites.read', own, audit: reads })
    .input(inputs.listInput)
    .output(ownInvitePage)
    .query(async ({ ctx: { request }, input: { limit, cursor } }) => {
      const page = await request.inContext(null, (ctx) =>
        listOwnInvites(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentOwnInvite) });
    }),

  get: procedure({ permission: 'invites.read', audit: reads })
    .input(inputs.inviteInput)
    .output(inviteEnvelope)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, invite_id: inviteId } }) => ({
      data: presentInvite(await request.inContext(spaceId, (ctx) => readInvite(ctx, { inviteId }))),
    })),

  create: procedure({ permission: 'invites.create', audit: ['space.invite_created', 'space.invite_expired'] })
    .input(inputs.createInviteInput)
    .output(inviteEnvelope)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, email, role_id: roleId } }) => ({
      data: presentInvite(await request.inContext(spaceId, (ctx) => createInvite(ctx, { email, roleId }))),
    })),

  accept: procedure({ own, audit: ['space.invite_accepted', 'space.member_added'] })
    .input(inputs.inviteInput)
    .output(inviteEnvelope)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, invite_id: inviteId } }) => ({
      data: presentInvite(await request.inContext(spaceId, (ctx) => acceptInvite(ctx, { inviteId }))),
    })),

  decline: procedure({ own, audit: ['space.invite_declined'] })
    .input(inputs.inviteInput)
    .output(inviteEnvelope)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, invite_id: inviteId } }) => ({
      data: presentInvite(await request.inContext(spaceId, (ctx) => declineInvite(ctx, { inviteId }))),
    })),

  revoke: procedure({ permission: 'invites.revoke', audit: ['space.invite_revoked'] })
    .input(inputs.inviteInput)
    .output(inviteEnvelope)
    .mutation(async ({ ctx: { request }, input: { space_id: spaceId, invite_id: inviteId } }) => ({
      data: presentInvite(await request.inContext(spaceId, (ctx) => revokeInvite(ctx, { inviteId }))),
    })),
});
