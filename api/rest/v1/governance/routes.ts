import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { errorResponses, spaceParams } from '#api/contract/common.ts';
import { governanceEnvelope, updateGovernanceBody } from '#api/contract/governance.ts';
import { presentGovernance } from '#api/present/governance.ts';
import { readGovernance, updateGovernance } from '#domain/governance/policy/read-governance.ts';

const tags = ['Governance'];
const path = '/spaces/:space_id/governance';

export async function governanceRoutes(instance: FastifyInstance): Promise<void> {
  const app = instance.withTypeProvider<ZodTypeProvider>();

  app.get(
    path,
    {
      config: { permission: 'governance.read', audit: { none: 'reads' } },
      schema: {
        tags,
        operationId: 'getGovernance',
        summary: 'Read the governance settings of a space',
        params: spaceParams,
        response: { 200: governanceEnvelope, ...errorResponses },
      },
    },
    async (request) => ({
      data: presentGovernance(await request.inContext(request.params.space_id, readGovernance)),
    }),
  );

  app.put(
    path,
    {
      config: { permission: 'governance.update', audit: ['space.governance_updated'] },
      schema: {
        tags,
        operationId: 'updateGovernance',
        summary: 'Replace the governance settings of a space',
        description: 'Replaces all settings. Running responses keep the settings that they started with.',
        params: spaceParams,
        body: updateGovernanceBody,
        response: { 200: governanceEnvelope, ...errorResponses },
      },
    },
    async (request) => {
      const { pii } = request.body;
      const updated = await request.inContext(request.params.space_id, (ctx) => updateGovernance(ctx, pii));
      return { data: presentGovernance(updated) };
    },
  );
}
