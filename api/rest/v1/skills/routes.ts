import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { createHeaders, listQuery } from '#api/contract/knowledge.ts';
import { deleted, errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/skills.ts';
import { toPage } from '#api/present/page.ts';
import { presentSkill } from '#api/present/skills.ts';
import { createSkill } from '#domain/capabilities/skills/create-skill.ts';
import { deleteSkill } from '#domain/capabilities/skills/delete-skill.ts';
import { listSkills, readSkill } from '#domain/capabilities/skills/read-skills.ts';
import { updateSkill } from '#domain/capabilities/skills/update-skill.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Skills'];
const reads = { none: 'reads' };
const all = '/admin/skills';
const one = '/admin/skills/:skill_id';

export async function skillRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    all,
    {
      config: { permission: 'skills.create', audit: ['system.skill_changed'] },
      schema: {
        tags,
        operationId: 'createSkill',
        summary: 'Create a skill',
        description: 'The skill is offered once a version is published.',
        headers: createHeaders,
        body: contract.createSkillBody,
        response: { 200: contract.skillEnvelope, 201: contract.skillEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { headers, body } = request;
      const { skill, replayed } = await request.inContext(null, (ctx) =>
        createSkill(ctx, {
          name: body.name,
          description: body.description ?? null,
          idempotency: idempotencyOf(headers['idempotency-key'], `/v1${all}`, body),
        }),
      );
      markCreated(reply, replayed);
      return { data: presentSkill(skill) };
    },
  );

  app.get(
    all,
    {
      config: { permission: 'skills.read', audit: reads },
      schema: {
        tags,
        operationId: 'listSkills',
        summary: 'List the skills of the tenant, newest first',
        querystring: listQuery,
        response: { 200: contract.skillPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(null, (ctx) => listSkills(ctx, { limit, cursor: cursor ?? null }));
      return toPage({ ...page, items: page.items.map(presentSkill) });
    },
  );

  app.get(
    one,
    {
      config: { permission: 'skills.read', audit: reads },
      schema: {
        tags,
        operationId: 'getSkill',
        summary: 'Read a skill',
        params: contract.skillParams,
        response: { 200: contract.skillEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { skill_id: skillId } = request.params;
      return { data: presentSkill(await request.inContext(null, (ctx) => readSkill(ctx, { skillId }))) };
    },
  );

  app.patch(
    one,
    {
      config: { permission: 'skills.update', audit: ['system.skill_changed'] },
      schema: {
        tags,
        operationId: 'updateSkill',
        summary: 'Rename, enable, disable or archive a skill',
        params: contract.skillParams,
        body: contract.updateSkillBody,
        response: { 200: contract.skillEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { skill_id: skillId } = request.params;
      const skill = await request.inContext(null, (ctx) => updateSkill(ctx, { skillId, ...request.body }));
      return { data: presentSkill(skill) };
    },
  );

  app.delete(
    one,
    {
      config: { permission: 'skills.delete', audit: ['system.skill_changed'] },
      schema: {
        tags,
        operationId: 'deleteSkill',
        summary: 'Delete a skill with its versions',
        description: 'Running responses keep the version that they were given.',
        params: contract.skillParams,
        response: { 200: deleted, ...errorResponses },
      },
    },
    async (request) => {
      const { skill_id: skillId } = request.params;
      await request.inContext(null, (ctx) => deleteSkill(ctx, { skillId }));
      return { data: { id: skillId, deleted: true as const } };
    },
  );
}
