import type { FastifyInstance } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import { documentRoutes } from './collections/document-routes.ts';
import { collectionRoutes } from './collections/routes.ts';
import { serverRoutes } from './mcp-servers/routes.ts';
import { governanceRoutes } from './governance/routes.ts';
import { openAiModelRoutes } from './openai/model-routes.ts';
import { openAiResponseRoutes } from './openai/routes.ts';
import { responseRoutes } from './responses/routes.ts';
import { messageRoutes } from './threads/message-routes.ts';
import { threadRoutes } from './threads/routes.ts';

/** Every REST operation of version 1. */
export function restV1(deps: GatewayDependencies) {
  return async (scope: FastifyInstance): Promise<void> => {
    await scope.register(responseRoutes(deps));
    await scope.register(openAiResponseRoutes(deps));
    await scope.register(openAiModelRoutes);
    await scope.register(collectionRoutes);
    await scope.register(documentRoutes);
    await scope.register(serverRoutes);
    await scope.register(threadRoutes);
    await scope.register(messageRoutes(deps));
    await scope.register(governanceRoutes);
  };
}
