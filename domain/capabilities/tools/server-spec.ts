import type { McpServer } from './mcp-server.entity.ts';
import type { ToolServerSpec } from './tool-server.ts';

/** @param principalId for whom the server is called */
export function toSpec(server: McpServer, principalId: string): ToolServerSpec {
  const { tenantId, spaceId, credentialId } = server;
  return {
    tenantId,
    spaceId,
    url: server.url,
    credentialRef: server.credentialRef ?? null,
    credentialHeader: server.credentialHeader ?? null,
    ...(server.connectionMode === 'none'
      ? {}
      : {
          connection: {
            tenantId,
            serverId: server.id,
            ownerId: server.connectionMode === 'personal' ? principalId : null,
          },
        }),
    ...(credentialId == null ? {} : { stored: { tenantId, spaceId, principalId, credentialId } }),
  };
}
