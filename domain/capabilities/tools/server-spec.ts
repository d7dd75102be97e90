import type { McpServer } from './mcp-server.entity.ts';
import type { ToolServerSpec } from './tool-server.ts';

export function toSpec(server: McpServer): ToolServerSpec {
  return {
    tenantId: server.tenantId,
    spaceId: server.spaceId,
    url: server.url,
    credentialRef: server.credentialRef ?? null,
    credentialHeader: server.credentialHeader ?? null,
  };
}
