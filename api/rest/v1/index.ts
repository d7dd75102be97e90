import type { FastifyInstance } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import { documentRoutes } from './collections/document-routes.ts';
import { collectionRoutes } from './collections/routes.ts';
import { serverRoutes } from './mcp-servers/routes.ts';
import { notificationRoutes } from './notifications/routes.ts';
import { openAiModelRoutes } from './openai/model-routes.ts';
import { openAiResponseRoutes } from './openai/routes.ts';
import { responseRoutes } from './responses/routes.ts';

/** Every REST operation of version 1. */
export function restV1(deps: GatewayDependencies) {
  return async (scope: FastifyInstance): Promise<void> => {
    await scope.register(responseRoutes(deps));
    await scope.register(openAiResponseRoutes(deps));
    await scope.register(openAiModelRoutes);
    await scope.register(collectionRoutes);
    await scope.register(documentRoutes);
    await scope.register(serverRoutes);
    await scope.register(notificationRoutes);
  };
}
