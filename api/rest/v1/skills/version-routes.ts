import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { createHeaders, listQuery } from '#api/contract/knowledge.ts';
import { errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/skills.ts';
import { toPage } from '#api/present/page.ts';
import { presentVersion } from '#api/present/skills.ts';
import { deprecateVersion } from '#domain/capabilities/skills/deprecate-version.ts';
import { draftVersion, editDraft } from '#domain/capabilities/skills/draft-version.ts';
import { publishVersion } from '#domain/capabilities/skills/publish-version.ts';
import { listVersions, readVersion } from '#domain/capabilities/skills/read-skills.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Skills'];
const reads = { none: 'reads' };
const all = '/admin/skills/:skill_id/versions';
const one = '/admin/skills/:skill_id/versions/:version_id';

export async function skillVersionRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    all,
    {
      config: { permission: 'skills.update', audit: ['system.skill_changed'] },
      schema: {
        tags,
        operationId: 'draftSkillVersion',
        summary: 'Draft a version of a skill',
        params: contract.skillParams,
        headers: createHeaders,
        body: contract.draftVersionBody,
        response: { 200: contract.versionEnvelope, 201: contract.versionEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { params, headers, body } = request;
      const path = `/v1/admin/skills/${params.skill_id}/versions`;
      const { version, replayed } = await request.inContext(null, (ctx) =>
        draftVersion(ctx, {
          skillId: params.skill_id,
          instructions: body.instructions,
          allowedTools: body.allowed_tools,
          notes: body.notes ?? null,
          idempotency: idempotencyOf(headers['idempotency-key'], path, body),
        }),
      );
      markCreated(reply, replayed);
      return { data: presentVersion(version) };
    },
  );

  app.get(
    all,
    {
      config: { permission: 'skills.read', audit: reads },
      schema: {
        tags,
        operationId: 'listSkillVersions',
        summary: 'List the versions of a skill, newest first',
        params: contract.skillParams,
        querystring: listQuery,
        response: { 200: contract.versionPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const { skill_id: skillId } = request.params;
      const page = await request.inContext(null, (ctx) =>
        listVersions(ctx, { skillId, limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentVersion) });
    },
  );

  app.get(
    one,
    {
      config: { permission: 'skills.read', audit: reads },
      schema: {
        tags,
        operationId: 'getSkillVersion',
        summary: 'Read a version of a skill',
        params: contract.versionParams,
        response: { 200: contract.versionEnvelope, ...errorResponses },
      },
    },
    async (request) => ({
      data: presentVersion(
        await request.inContext(null, (ctx) => readVersion(ctx, addressOf(request.params))),
      ),
    }),
  );

  app.patch(
    one,
    {
      config: { permission: 'skills.update', audit: ['system.skill_changed'] },
      schema: {
        tags,
        operationId: 'editSkillDraft',
        summary: 'Change a draft',
        params: contract.versionParams,
        body: contract.editDraftBody,
        response: { 200: contract.versionEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { allowed_tools: allowedTools, ...body } = request.body;
      const version = await request.inContext(null, (ctx) =>
        editDraft(ctx, { ...addressOf(request.params), ...body, allowedTools }),
      );
      return { data: presentVersion(version) };
    },
  );

  app.post(
    `${one}/publish`,
    {
      config: { permission: 'skills.publish', audit: ['system.skill_version_published'] },
      schema: {
        tags,
        operationId: 'publishSkillVersion',
        summary: 'Publish a draft for new responses',
        description: 'A published version never changes.',
        params: contract.versionParams,
        response: { 200: contract.versionEnvelope, ...errorResponses },
      },
    },
    async (request) => ({
      data: presentVersion(
        await request.inContext(null, (ctx) => publishVersion(ctx, addressOf(request.params))),
      ),
    }),
  );

  app.post(
    `${one}/deprecate`,
    {
      config: { permission: 'skills.deprecate', audit: ['system.skill_version_deprecated'] },
      schema: {
        tags,
        operationId: 'deprecateSkillVersion',
        summary: 'Withdraw a published version from new responses',
        description:
          'The highest remaining published version replaces it; without one the skill is disabled. A repeated request changes nothing.',
        params: contract.versionParams,
        response: { 200: contract.versionEnvelope, ...errorResponses },
      },
    },
    async (request) => ({
      data: presentVersion(
        await request.inContext(null, (ctx) => deprecateVersion(ctx, addressOf(request.params))),
      ),
    }),
  );
}

function addressOf(params: { skill_id: string; version_id: string }): { skillId: string; versionId: string } {
  return { skillId: params.skill_id, versionId: params.version_id };
}
