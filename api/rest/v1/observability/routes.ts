import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { errorResponses, spaceParams } from '#api/contract/common.ts';
import * as contract from '#api/contract/observability.ts';
import { presentObservability } from '#api/present/observability.ts';
import { readObservability } from '#domain/operations/observability/read-observability.ts';
import { removeObservability, setObservability } from '#domain/operations/observability/set-observability.ts';

const tags = ['Observability'];
const path = '/spaces/:space_id/observability/config';
const updated = ['space.observability_updated' as const];

export async function observabilityRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.put(
    path,
    {
      config: { permission: 'observability.update', audit: updated },
      schema: {
        tags,
        operationId: 'setObservability',
        summary: 'Configure the tracing of a space’s responses',
        description: 'Replaces the whole configuration. Responses accepted afterwards are traced.',
        params: spaceParams,
        body: contract.setObservabilityBody,
        response: { 200: contract.observabilityEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { params, body } = request;
      const config = await request.inContext(params.space_id, (ctx) =>
        setObservability(ctx, {
          publicKey: body.tracing_public_key,
          secretKey: body.tracing_secret_key,
          projectId: body.tracing_project_id ?? null,
          baseUrl: body.tracing_base_url ?? null,
        }),
      );
      return { data: presentObservability(config) };
    },
  );

  app.get(
    path,
    {
      config: { permission: 'observability.read', audit: { none: 'reads' } },
      schema: {
        tags,
        operationId: 'getObservability',
        summary: 'Read the tracing configuration of a space',
        params: spaceParams,
        response: { 200: contract.observabilityEnvelope, ...errorResponses },
      },
    },
    async (request) => ({
      data: presentObservability(await request.inContext(request.params.space_id, readObservability)),
    }),
  );

  app.delete(
    path,
    {
      config: { permission: 'observability.update', audit: updated },
      schema: {
        tags,
        operationId: 'removeObservability',
        summary: 'Stop tracing the responses of a space',
        params: spaceParams,
        response: { 200: contract.observabilityRemoved, ...errorResponses },
      },
    },
    async (request) => {
      const { space_id: spaceId } = request.params;
      await request.inContext(spaceId, removeObservability);
      return { data: { space_id: spaceId, deleted: true as const } };
    },
  );
}
