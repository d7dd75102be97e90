import { deleted } from '#api/contract/common.ts';
import * as inputs from '#api/contract/procedures.ts';
import { skillEnvelope, skillPage, versionEnvelope, versionPage } from '#api/contract/skills.ts';
import { toPage } from '#api/present/page.ts';
import { presentSkill, presentVersion } from '#api/present/skills.ts';
import { createSkill } from '#domain/capabilities/skills/create-skill.ts';
import { deleteSkill } from '#domain/capabilities/skills/delete-skill.ts';
import { deprecateVersion } from '#domain/capabilities/skills/deprecate-version.ts';
import { draftVersion, editDraft } from '#domain/capabilities/skills/draft-version.ts';
import { publishVersion } from '#domain/capabilities/skills/publish-version.ts';
import { listSkills, listVersions, readSkill, readVersion } from '#domain/capabilities/skills/read-skills.ts';
import { updateSkill } from '#domain/capabilities/skills/update-skill.ts';
import { procedure, reads, router } from './trpc.ts';

export const skills = router({
  list: procedure({ permission: 'skills.read', audit: reads })
    .input(inputs.listInput)
    .output(skillPage)
    .query(async ({ ctx: { request }, input: { limit, cursor } }) => {
      const page = await request.inContext(null, (ctx) => listSkills(ctx, { limit, cursor: cursor ?? null }));
      return toPage({ ...page, items: page.items.map(presentSkill) });
    }),

  get: procedure({ permission: 'skills.read', audit: reads })
    .input(inputs.skillInput)
    .output(skillEnvelope)
    .query(async ({ ctx: { request }, input: { skill_id: skillId } }) => ({
      data: presentSkill(await request.inContext(null, (ctx) => readSkill(ctx, { skillId }))),
    })),

  create: procedure({ permission: 'skills.create', audit: ['system.skill_changed'] })
    .input(inputs.createSkillInput)
    .output(skillEnvelope)
    .mutation(async ({ ctx: { request }, input: { name, description = null } }) => {
      const { skill } = await request.inContext(null, (ctx) =>
        createSkill(ctx, { name, description, idempotency: null }),
      );
      return { data: presentSkill(skill) };
    }),

  update: procedure({ permission: 'skills.update', audit: ['system.skill_changed'] })
    .input(inputs.updateSkillInput)
    .output(skillEnvelope)
    .mutation(async ({ ctx: { request }, input: { skill_id: skillId, ...changes } }) => ({
      data: presentSkill(await request.inContext(null, (ctx) => updateSkill(ctx, { skillId, ...changes }))),
    })),

  delete: procedure({ permission: 'skills.delete', audit: ['system.skill_changed'] })
    .input(inputs.skillInput)
    .output(deleted)
    .mutation(async ({ ctx: { request }, input: { skill_id: skillId } }) => {
      await request.inContext(null, (ctx) => deleteSkill(ctx, { skillId }));
      return { data: { id: skillId, deleted: true as const } };
    }),
});

export const skillVersions = router({
  list: procedure({ permission: 'skills.read', audit: reads })
    .input(inputs.versionListInput)
    .output(versionPage)
    .query(async ({ ctx: { request }, input: { skill_id: skillId, limit, cursor } }) => {
      const page = await request.inContext(null, (ctx) =>
        listVersions(ctx, { skillId, limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentVersion) });
    }),

  get: procedure({ permission: 'skills.read', audit: reads })
    .input(inputs.versionInput)
    .output(versionEnvelope)
    .query(async ({ ctx: { request }, input: { skill_id: skillId, version_id: versionId } }) => ({
      data: presentVersion(await request.inContext(null, (ctx) => readVersion(ctx, { skillId, versionId }))),
    })),

  draft: procedure({ permission: 'skills.update', audit: ['system.skill_changed'] })
    .input(inputs.draftVersionInput)
    .output(versionEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { version } = await request.inContext(null, (ctx) =>
        draftVersion(ctx, {
          skillId: input.skill_id,
          instructions: input.instructions,
          allowedTools: input.allowed_tools,
          notes: input.notes ?? null,
          idempotency: null,
        }),
      );
      return { data: presentVersion(version) };
    }),

  edit: procedure({ permission: 'skills.update', audit: ['system.skill_changed'] })
    .input(inputs.editDraftInput)
    .output(versionEnvelope)
    .mutation(async ({ ctx: { request }, input }) => {
      const { skill_id: skillId, version_id: versionId, allowed_tools: allowedTools, ...rest } = input;
      const version = await request.inContext(null, (ctx) =>
        editDraft(ctx, { skillId, versionId, allowedTools, ...rest }),
      );
      return { data: presentVersion(version) };
    }),

  publish: procedure({ permission: 'skills.publish', audit: ['system.skill_version_published'] })
    .input(inputs.versionInput)
    .output(versionEnvelope)
    .mutation(async ({ ctx: { request }, input: { skill_id: skillId, version_id: versionId } }) => ({
      data: presentVersion(
        await request.inContext(null, (ctx) => publishVersion(ctx, { skillId, versionId })),
      ),
    })),

  deprecate: procedure({ permission: 'skills.deprecate', audit: ['system.skill_version_deprecated'] })
    .input(inputs.versionInput)
    .output(versionEnvelope)
    .mutation(async ({ ctx: { request }, input: { skill_id: skillId, version_id: versionId } }) => ({
      data: presentVersion(
        await request.inContext(null, (ctx) => deprecateVersion(ctx, { skillId, versionId })),
      ),
    })),
});
