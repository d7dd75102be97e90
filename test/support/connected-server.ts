import { applyDiscovery } from '#domain/capabilities/tools/apply-discovery.ts';
import { readServer } from '#domain/capabilities/tools/read-servers.ts';
import { registerServer } from '#domain/capabilities/tools/register-server.ts';
import type { DiscoveredTool } from '#domain/capabilities/tools/tool-server.ts';
import { updateServer, type ToolSetting } from '#domain/capabilities/tools/update-server.ts';
import type { Engine } from './engine.ts';

export function tool(name: string, more: Partial<DiscoveredTool> = {}): DiscoveredTool {
  return {
    name,
    title: null,
    description: `Does ${name}.`,
    inputSchema: { type: 'object', properties: {} },
    outputSchema: null,
    annotations: null,
    ...more,
  };
}

export interface Connected {
  serverId: string;
  /** The server's definitions from now on. */
  discover(tools: DiscoveredTool[]): Promise<void>;
  /** As a person who has reviewed the present definitions. */
  enable(names: string[], settings?: ToolSetting[]): Promise<void>;
}

/** A server of the engine's space, listed and with all its tools enabled by default. */
export async function connectServer(
  engine: Engine,
  options: {
    slug: string;
    url?: string;
    credential?: { ref: string; header: string | null };
    tools: DiscoveredTool[];
    enabled?: string[];
    settings?: ToolSetting[];
  },
): Promise<Connected> {
  const { server } = await engine.act((ctx) =>
    registerServer(ctx, {
      slug: options.slug,
      displayName: options.slug,
      transportType: 'streamable_http',
      url: options.url ?? 'https://tools.example.com/mcp',
      iconUrl: null,
      credential: options.credential ?? null,
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
    enable: async (names, tools) => {
      await engine.act(async (ctx) => {
        const known = await readServer(ctx, { serverId: server.id });
        const enabledTools = names.map((name) => ({
          name,
          schemaHash: known.tools.find((each) => each.name === name)?.schemaHash,
        }));
        return updateServer(ctx, { serverId: server.id, enabledTools, tools });
      });
    },
  };
  await connected.discover(options.tools);
  await connected.enable(options.enabled ?? options.tools.map(({ name }) => name), options.settings);
  return connected;
}
