import {
  memberEnvelope,
  memberPage,
  memberRemoved,
  spaceEnvelope,
  spaceModels,
  spacePage,
} from '#api/contract/administration.ts';
import { deleted } from '#api/contract/common.ts';
import * as inputs from '#api/contract/procedures.ts';
import { presentSpace } from '#api/present/administration.ts';
import { presentMember } from '#api/present/workspace.ts';
import { toPage } from '#api/present/page.ts';
import { addMember } from '#domain/workspace/members/add-member.ts';
import { changeMemberRole } from '#domain/workspace/members/change-member-role.ts';
import { deleteSpace } from '#domain/workspace/spaces/delete-space.ts';
import { listMembers } from '#domain/workspace/members/list-members.ts';
import { listSpaceModels } from '#domain/workspace/spaces/list-space-models.ts';
import { listSpaces } from '#domain/workspace/spaces/list-spaces.ts';
import { openSpace } from '#domain/workspace/spaces/open-space.ts';
import { readMember } from '#domain/workspace/members/read-member.ts';
import { readSpace } from '#domain/workspace/spaces/read-space.ts';
import { removeMember } from '#domain/workspace/members/remove-member.ts';
import { setSpaceModels } from '#domain/workspace/spaces/set-space-models.ts';
import { updateSpace } from '#domain/workspace/spaces/update-space.ts';
import { procedure, reads, router } from './trpc.ts';

export const spaces = router({
  list: procedure({
    permission: 'spaces.read',
    own: 'the caller’s own spaces',
    audit: reads,
  })
    .input(inputs.listInput)
    .output(spacePage)
    .query(async ({ ctx: { request }, input: { limit, cursor } }) => {
      const page = await request.inContext(null, (ctx) => listSpaces(ctx, { limit, cursor: cursor ?? null }));
      return toPage({ ...page, items: page.items.map(presentSpace) });
    }),

  create: procedure({ permission: 'spaces.create', audit: ['space.created'] })
    .input(inputs.createSpaceInput)
    .output(spaceEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { space } = await request.inContext(null, (ctx) => openSpace(ctx, input));
      return { data: presentSpace(space) };
    }),

  get: procedure({ permission: 'spaces.read', audit: reads })
    .input(inputs.spaceInput)
    .output(spaceEnvelope)
    .query(async ({ ctx: { request }, input }) => ({
      data: presentSpace(await request.inContext(input.space_id, readSpace)),
    })),

  update: procedure({ permission: 'spaces.update', audit: ['space.updated'] })
    .input(inputs.updateSpaceInput)
    .output(spaceEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, name, openai_tools: openAiTools } = input;
      const space = await request.inContext(spaceId, (ctx) => updateSpace(ctx, { name, openAiTools }));
      return { data: presentSpace(space) };
    }),

  delete: procedure({ permission: 'spaces.delete', audit: ['space.deleted'] })
    .input(inputs.spaceInput)
    .output(deleted)
    .mutation(async ({ ctx: { request }, input: { space_id: id } }) => {
      await request.inContext(id, deleteSpace);
      return { data: { id, deleted: true as const } };
    }),

  models: procedure({ permission: 'spaces.read', audit: reads })
    .input(inputs.spaceInput)
    .output(spaceModels)
    .query(async ({ ctx: { request }, input }) => {
      const { models, defaultModel } = await request.inContext(input.space_id, listSpaceModels);
      return { data: { models, default_model: defaultModel } };
    }),

  setModels: procedure({ permission: 'spaces.manage_models', audit: ['space.models_updated'] })
    .input(inputs.setSpaceModelsInput)
    .output(spaceModels)
    .mutation(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, models, default_model: defaultModel } = input;
      await request.inContext(spaceId, (ctx) => setSpaceModels(ctx, { models, defaultModel }));
      return { data: { models: [...new Set(models)].sort(), default_model: defaultModel } };
    }),
});

export const members = router({
  list: procedure({ permission: 'members.read', audit: reads })
    .input(inputs.spaceListInput)
    .output(memberPage)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, limit, cursor } }) => {
      const page = await request.inContext(spaceId, (ctx) =>
        listMembers(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentMember) });
    }),

  get: procedure({ permission: 'members.read', audit: reads })
    .input(inputs.memberInput)
    .output(memberEnvelope)
    .query(async ({ ctx: { request }, input: { space_id: spaceId, member_id: memberId } }) => ({
      data: presentMember(await request.inContext(spaceId, (ctx) => readMember(ctx, { memberId }))),
    })),

  add: procedure({ permission: 'members.add', audit: ['space.member_added'] })
    .input(inputs.addMemberInput)
    .output(memberEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, principal_id: principalId, role: roleKey, role_id: roleId } = input;
      const added = await request.inContext(spaceId, (ctx) =>
        addMember(ctx, { principalId, roleKey, roleId }),
      );
      return { data: presentMember(added) };
    }),

  changeRole: procedure({ permission: 'members.add', audit: ['space.member_role_changed'] })
    .input(inputs.changeMemberRoleInput)
    .output(memberEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, member_id: memberId, role_id: roleId } = input;
      const changed = await request.inContext(spaceId, (ctx) => changeMemberRole(ctx, { memberId, roleId }));
      return { data: presentMember(changed) };
    }),

  remove: procedure({
    permission: 'members.remove',
    audit: [
      'space.member_removed',
      'space.invite_revoked',
      'space.invite_expired',
      'security.mcp_auth_revoked',
    ],
  })
    .input(inputs.removeMemberInput)
    .output(memberRemoved)
    .mutation(async ({ ctx: { request }, input }) => {
      const { space_id: spaceId, principal_id: principalId } = input;
      await request.inContext(spaceId, (ctx) => removeMember(ctx, { principalId }));
      return { data: { principal_id: principalId, removed: true as const } };
    }),
});
