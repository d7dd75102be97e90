import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { GatewayDependencies } from '#api/compose.ts';
import { checkConnector } from '#api/connectors.ts';
import { errorResponses } from '#api/contract/common.ts';
import * as contract from '#api/contract/connectors.ts';
import { collectionParams } from '#api/contract/knowledge.ts';
import { presentProvider } from '#api/present/connectors.ts';
import { toPage } from '#api/present/page.ts';
import { audits, ownProviders } from './audits.ts';

const tags = ['Connectors'];

/** Operations on what is not stored: the providers of the platform, and a connector to be created. */
export function connectorCheckRoutes(deps: GatewayDependencies) {
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<ZodTypeProvider>();

    app.get(
      '/connector-providers',
      {
        config: { own: ownProviders, audit: audits.reads },
        schema: {
          tags,
          operationId: 'listConnectorProviders',
          summary: 'List the kinds of sources that a connector can read',
          response: { 200: contract.connectorProviderPage, ...errorResponses },
        },
      },
      async () => toPage({ items: deps.sources.list().map(presentProvider), nextCursor: null }),
    );

    app.post(
      '/spaces/:space_id/collections/:collection_id/connectors/check',
      {
        config: { permission: 'connectors.create', audit: audits.check },
        schema: {
          tags,
          operationId: 'checkConnector',
          summary: 'Check whether a connector could read its source, without storing it',
          description:
            'Takes at most ten seconds. A source that does not answer is `"ok": false`, not an error.',
          params: collectionParams,
          body: contract.createConnectorBody,
          response: { 200: contract.checkEnvelope, ...errorResponses },
        },
      },
      async (request) => ({ data: await checkConnector(deps, request, request.params, request.body) }),
    );
  };
}
