import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { createHeaders, listQuery } from '#api/contract/identity.ts';
import { deleted, errorResponses, spaceParams } from '#api/contract/common.ts';
import * as contract from '#api/contract/workspace.ts';
import { presentProject } from '#api/present/workspace.ts';
import { toPage } from '#api/present/page.ts';
import { createProject } from '#domain/workspace/projects/create-project.ts';
import { deleteProject } from '#domain/workspace/projects/delete-project.ts';
import { listProjects, readProject } from '#domain/workspace/projects/read-projects.ts';
import { updateProject } from '#domain/workspace/projects/update-project.ts';
import { markCreated } from '../created.ts';
import { idempotencyOf } from '../idempotency.ts';

const tags = ['Projects'];
const reads = { none: 'reads' };

export async function projectRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.post(
    '/spaces/:space_id/projects',
    {
      config: { permission: 'projects.create', audit: ['space.project_created'] },
      schema: {
        tags,
        operationId: 'createProject',
        summary: 'Create a project in a space',
        params: spaceParams,
        headers: createHeaders,
        body: contract.createProjectBody,
        response: { 200: contract.projectEnvelope, 201: contract.projectEnvelope, ...errorResponses },
      },
    },
    async (request, reply) => {
      const { params, headers, body } = request;
      const path = `/v1/spaces/${params.space_id}/projects`;
      const { project, replayed } = await request.inContext(params.space_id, (ctx) =>
        createProject(ctx, {
          name: body.name,
          description: body.description ?? null,
          idempotency: idempotencyOf(headers['idempotency-key'], path, body),
        }),
      );
      markCreated(reply, replayed);
      return { data: presentProject(project) };
    },
  );

  app.get(
    '/spaces/:space_id/projects',
    {
      config: { permission: 'projects.read', audit: reads },
      schema: {
        tags,
        operationId: 'listProjects',
        summary: 'List the projects of a space, newest first',
        params: spaceParams,
        querystring: listQuery,
        response: { 200: contract.projectPage, ...errorResponses },
      },
    },
    async (request) => {
      const { limit, cursor } = request.query;
      const page = await request.inContext(request.params.space_id, (ctx) =>
        listProjects(ctx, { limit, cursor: cursor ?? null }),
      );
      return toPage({ ...page, items: page.items.map(presentProject) });
    },
  );

  app.get(
    '/spaces/:space_id/projects/:project_id',
    {
      config: { permission: 'projects.read', audit: reads },
      schema: {
        tags,
        operationId: 'getProject',
        summary: 'Read a project',
        params: contract.projectParams,
        response: { 200: contract.projectEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, project_id: projectId } = request.params;
      const project = await request.inContext(spaceId, (ctx) => readProject(ctx, { projectId }));
      return { data: presentProject(project) };
    },
  );

  app.patch(
    '/spaces/:space_id/projects/:project_id',
    {
      config: { permission: 'projects.update', audit: ['space.project_updated'] },
      schema: {
        tags,
        operationId: 'updateProject',
        summary: 'Change a project’s name or description',
        params: contract.projectParams,
        body: contract.updateProjectBody,
        response: { 200: contract.projectEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, project_id: projectId } = request.params;
      const project = await request.inContext(spaceId, (ctx) =>
        updateProject(ctx, { projectId, ...request.body }),
      );
      return { data: presentProject(project) };
    },
  );

  app.delete(
    '/spaces/:space_id/projects/:project_id',
    {
      config: { permission: 'projects.delete', audit: ['space.project_deleted'] },
      schema: {
        tags,
        operationId: 'deleteProject',
        summary: 'Delete a project; its threads stay in the space',
        params: contract.projectParams,
        response: { 200: deleted, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId, project_id: id } = request.params;
      await request.inContext(spaceId, (ctx) => deleteProject(ctx, { projectId: id }));
      return { data: { id, deleted: true as const } };
    },
  );
}
