import type { FastifyInstance } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import { apiKeyRoutes } from './admin/api-key-routes.ts';
import { principalRoutes } from './admin/principal-routes.ts';
import { roleRoutes } from './admin/role-routes.ts';
import { tenantRoutes } from './admin/tenant-routes.ts';
import { documentRoutes } from './collections/document-routes.ts';
import { collectionRoutes } from './collections/routes.ts';
import { eventRoutes } from './events/routes.ts';
import { identityProviderRoutes } from './identity-providers/routes.ts';
import { adminModelRoutes } from './models/admin-routes.ts';
import { observabilityRoutes } from './observability/routes.ts';
import { skillRoutes } from './skills/routes.ts';
import { skillVersionRoutes } from './skills/version-routes.ts';
import { serverRoutes } from './mcp-servers/routes.ts';
import { notificationRoutes } from './notifications/routes.ts';
import { modelRoutes } from './models/routes.ts';
import { openAiModelRoutes } from './openai/model-routes.ts';
import { openAiResponseRoutes } from './openai/routes.ts';
import { responseRoutes } from './responses/routes.ts';
import { sessionRoutes } from './sessions/routes.ts';
import { signInRoutes } from './sign-in/routes.ts';
import { inviteRoutes } from './spaces/invite-routes.ts';
import { memberRoutes } from './spaces/member-routes.ts';
import { projectMemberRoutes } from './spaces/project-member-routes.ts';
import { projectRoutes } from './spaces/project-routes.ts';
import { spaceRoutes } from './spaces/routes.ts';

/** Every REST operation of version 1. */
export function restV1(deps: GatewayDependencies) {
  return async (scope: FastifyInstance): Promise<void> => {
    await scope.register(responseRoutes(deps));
    await scope.register(openAiResponseRoutes(deps));
    await scope.register(openAiModelRoutes);
    await scope.register(collectionRoutes);
    await scope.register(documentRoutes);
    await scope.register(serverRoutes);
    await scope.register(eventRoutes);
    await scope.register(notificationRoutes);
    await scope.register(signInRoutes(deps));
    await scope.register(sessionRoutes(deps));
    await scope.register(identityProviderRoutes);
    await scope.register(tenantRoutes(deps));
    await scope.register(roleRoutes);
    await scope.register(principalRoutes);
    await scope.register(apiKeyRoutes);
    await scope.register(modelRoutes);
    await scope.register(spaceRoutes);
    await scope.register(memberRoutes);
    await scope.register(projectRoutes);
    await scope.register(projectMemberRoutes);
    await scope.register(inviteRoutes);
    await scope.register(skillRoutes);
    await scope.register(skillVersionRoutes);
    await scope.register(observabilityRoutes);
    await scope.register(adminModelRoutes);
  };
}
