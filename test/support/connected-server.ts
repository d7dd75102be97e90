import { applyDiscovery } from '#domain/tools/apply-discovery.ts';
import { registerServer } from '#domain/tools/register-server.ts';
import type { DiscoveredTool } from '#domain/tools/tool-server.ts';
import { updateServer, type ToolSetting } from '#domain/tools/update-server.ts';
import type { Engine } from './engine.ts';

export function tool(name: string, more: Partial<DiscoveredTool> = {}): DiscoveredTool {
  return {
    name,
    title: null,
    description: `Does ${name}.`,
    inputSchema: { type: 'object', properties: {} },
    annotations: null,
    ...more,
  };
}

export interface Connected {
  serverId: string;
  /** What the server says of itself from now on. */
  discover(tools: DiscoveredTool[]): Promise<void>;
  enable(names: string[], settings?: ToolSetting[]): Promise<void>;
}

/** A server of the engine's space, read and with all its tools enabled unless told otherwise. */
export async function connectServer(
  engine: Engine,
  options: { slug: string; tools: DiscoveredTool[]; enabled?: string[]; settings?: ToolSetting[] },
): Promise<Connected> {
  const { server } = await engine.act((ctx) =>
    registerServer(ctx, {
      slug: options.slug,
      displayName: options.slug,
      transportType: 'streamable_http',
      url: 'https://tools.example.com/mcp',
      iconUrl: null,
      credential: null,
      idempotency: null,
    }),
  );
  const connected: Connected = {
    serverId: server.id,
    discover: async (tools) => {
      await engine.database.unitOfWork.inTenant(engine.world.tenantId, (em) =>
        applyDiscovery(em, server.id, { tools }),
      );
    },
    enable: async (enabledTools, tools) => {
      await engine.act((ctx) => updateServer(ctx, { serverId: server.id, enabledTools, tools }));
    },
  };
  await connected.discover(options.tools);
  await connected.enable(options.enabled ?? options.tools.map(({ name }) => name), options.settings);
  return connected;
}
