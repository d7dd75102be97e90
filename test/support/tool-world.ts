import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { startModelServer, type ModelServer } from './model-server.ts';
import type { Script } from './model-script.ts';
import { ResponsesClient } from './responses-client.ts';
import { startStack, type Stack, type StackOptions } from './stack.ts';
import { connect } from './tables.ts';
import { createWorld, scriptedModel, type World } from './world.ts';

/** The tool servers of a space, as its administrators see them. */
export interface SpaceServers {
  /** Any operation on tool servers. */
  call(method: string, path: string, body?: object): Promise<{ status: number; data: Server }>;
  /** Registers a server and waits until its tools are listed. */
  register(slug: string, url: string, more?: object): Promise<Server>;
  /** Refreshes its list and waits. */
  refresh(server: Server): Promise<Server>;
  /** Names among `enabled_tools` approve the present definitions. */
  update(server: Server, body: { enabled_tools?: string[]; tools?: object[] }): Promise<Server>;
}

/** A deployment whose models call tools. */
export interface ToolWorld extends SpaceServers {
  stack: Stack;
  world: World;
  models: ModelServer;
  database: TestDatabase;
  admin: Client;
  client: ResponsesClient;
  /** A finished response, by default with the model `script` and everything that the space grants. */
  ask(script: string, more?: object): Promise<ResponseRecord>;
  eventTypes(prefix: string): Promise<string[]>;
  stop(): Promise<void>;
}

export interface Server {
  mcp_server_config_id: string;
  slug: string;
  status: string;
  last_error: string | null;
  last_checked_at: string | null;
  enabled_tools: string[];
  discovered_tools: {
    name: string;
    state: string;
    schema_hash: string;
    input_schema: object;
    annotations: object | null;
  }[];
  tool_count: number;
}

export async function openToolWorld(options: {
  scripts: Script[];
  origins: string[];
  workers?: number;
  env?: Record<string, string>;
  armable?: boolean;
  /** Another Temporal server than the run's own. */
  temporalAddress?: StackOptions['temporalAddress'];
}): Promise<ToolWorld> {
  const models = await startModelServer(options.scripts);
  const database = await createTestDatabase();
  const admin = await connect(database.adminUrl);
  const world = await createWorld(
    database.unitOfWork,
    options.scripts.map(({ name }) => scriptedModel(models, name)),
  );
  const allowed = [new URL(models.url).origin, ...options.origins];
  const stack = await startStack({
    database,
    workers: options.workers ?? 1,
    armable: options.armable ?? false,
    ...(options.temporalAddress === undefined ? {} : { temporalAddress: options.temporalAddress }),
    env: { EGRESS_ALLOW: allowed.join(','), ...options.env },
  });
  const client = new ResponsesClient(world, () => stack.gateways[0]!);
  const tools: ToolWorld = {
    stack,
    world,
    models,
    database,
    admin,
    client,
    ...spaceServers(() => stack.gateways[0]!, world),
    ask: async (script, more = {}) => {
      const body = { input: { text: 'Do it.' }, model: script, ...more };
      const made = await client.create(body, { prefer: 'wait=30' });
      if (made.status !== 200) throw new Error(JSON.stringify(made));
      return made.data;
    },
    eventTypes: async (prefix) => {
      const { rows } = await admin.query<{ event_type: string }>(
        'select event_type from events where event_type like $1 order by id',
        [`${prefix}%`],
      );
      return rows.map((row) => row.event_type);
    },
    stop: async () => {
      await stack.stop();
      await models.stop();
      await admin.end();
      await database.drop();
    },
  };
  return tools;
}

export function spaceServers(
  gateway: () => { url: string },
  { spaceId, apiKey }: Pick<World, 'spaceId' | 'apiKey'>,
): SpaceServers {
  const servers: SpaceServers = {
    call: async (method, path, body) => {
      const answer = await fetch(`${gateway().url}/api/v1/spaces/${spaceId}/${path}`, {
        method,
        headers: { 'x-api-key': apiKey, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: answer.status, ...((await answer.json()) as { data: Server }) };
    },
    register: async (slug, url, more = {}) => {
      const made = await servers.call('POST', 'mcp-servers', {
        slug,
        url,
        display_name: slug,
        ...more,
      });
      if (made.status !== 201) throw new Error(JSON.stringify(made));
      return readAfter(servers, made.data);
    },
    refresh: async (server) => {
      await servers.call('POST', `mcp-servers/${server.mcp_server_config_id}/refresh`);
      return readAfter(servers, server);
    },
    update: async (server, body) => {
      const path = `mcp-servers/${server.mcp_server_config_id}`;
      const answer = await servers.call('PATCH', path, await approving(servers, path, body));
      if (answer.status !== 200) throw new Error(JSON.stringify(answer));
      return answer.data;
    },
  };
  return servers;
}

async function approving(
  servers: SpaceServers,
  path: string,
  { enabled_tools: names, ...body }: { enabled_tools?: string[]; tools?: object[] },
): Promise<object> {
  const { data } = await servers.call('GET', path);
  const looked = data.discovered_tools.filter(
    ({ name, state }) => names?.includes(name) || (names?.includes('*') && state === 'changed'),
  );
  const approved = looked.map(({ name, schema_hash: hash }) => ({ name, schema_hash: hash }));
  return {
    ...body,
    ...(names && { enabled_tools: [...names.filter((name) => name === '*'), ...approved] }),
  };
}

/** The server once its list is newer than `before`. */
async function readAfter(servers: SpaceServers, before: Server): Promise<Server> {
  for (const deadline = Date.now() + 30_000; ; await sleep(50)) {
    const { data } = await servers.call('GET', `mcp-servers/${before.mcp_server_config_id}`);
    if (data.last_checked_at !== before.last_checked_at) return data;
    if (Date.now() > deadline) throw new Error(`The server is still ${data.status}.`);
  }
}
