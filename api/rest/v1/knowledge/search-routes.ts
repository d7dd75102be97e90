import '#api/plugins/route-config.ts';
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import type { GatewayDependencies } from '#api/compose.ts';
import { errorResponses, spaceParams } from '#api/contract/common.ts';
import * as contract from '#api/contract/search.ts';
import { presentSearch } from '#api/present/search.ts';
import { searchAs, toQuery } from '#api/search.ts';
import { searchSpace } from '#domain/knowledge/search/search-space.ts';
import { searchSpaces } from '#domain/knowledge/search/search-spaces.ts';
import { joinParameters } from './context-parameters.ts';

const tags = ['Knowledge'];
/** The day on which the replacement appeared, in the format of RFC 9745. */
const deprecatedSince = '@1795478400';
/** A URI may not hold the braces of a template. */
const successor = '/v1/spaces/%7Bspace_id%7D/tools/knowledge_search/execute';

export function searchRoutes(deps: GatewayDependencies) {
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<ZodTypeProvider>();

    app.post(
      '/spaces/:space_id/tools/knowledge_search/execute',
      {
        config: { permission: 'knowledge.search', audit: { none: 'reads' } },
        schema: {
          tags,
          operationId: 'executeKnowledgeSearch',
          summary: 'Search the documents of a space',
          description:
            'Returns the passages that answer best, their documents, and the passages as text for a prompt.',
          params: spaceParams,
          body: contract.searchBody,
          response: { 200: contract.searchEnvelope, ...errorResponses },
        },
      },
      async (request) => {
        const { params, body } = request;
        const answer = await searchAs(deps, request, (access) =>
          searchSpace(access, toQuery(params.space_id, body)),
        );
        return { data: presentSearch(answer, body.max_tokens) };
      },
    );

    app.post(
      '/knowledge/calculate_context',
      {
        onRequest: async (request, reply) => {
          const prefix = request.url.slice(0, request.url.indexOf('/v1/'));
          reply
            .header('Deprecation', deprecatedSince)
            .header('Link', `<${prefix}${successor}>; rel="successor-version"`);
        },
        preValidation: async (request) => {
          request.body ??= {};
        },
        config: { permission: 'knowledge.search', audit: { none: 'reads' } },
        schema: {
          tags,
          operationId: 'calculateContext',
          deprecated: true,
          summary: 'Search the documents of several spaces',
          description:
            'Parameters stand in the query or in the body, which may be left out. A parameter in both must have the same value in both. `question` is required.',
          querystring: contract.contextQuery,
          body: contract.contextBody,
          response: { 200: contract.contextEnvelope, ...errorResponses },
        },
      },
      async (request) => {
        const { question, collection_ids: ids = [], alpha } = joinParameters(request.query, request.body);
        const answer = await searchAs(deps, request, (access) =>
          searchSpaces(access, {
            collectionIds: ids.length === 0 ? null : ids,
            query: question,
            limit: contract.contextDefaults.max_results,
            alpha: alpha ?? contract.contextDefaults.alpha,
          }),
        );
        const { spacesLeftOut } = answer;
        return {
          data: {
            ...presentSearch(answer, contract.defaultMaxTokens),
            spaces_left_out: spacesLeftOut,
          },
        };
      },
    );
  };
}
