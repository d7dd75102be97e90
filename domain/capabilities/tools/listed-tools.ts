import type { EntityManager } from '@mikro-orm/postgresql';
import { schemaHash, type ToolList } from './tool-server.ts';

/** Max tools that are stored of one account's list, as of a server's. */
const maxTools = 512;
const maxNameLength = 128;

/** The definitions, by name and hash, that one account is listed. */
export type ListedTools = ReadonlyMap<string, string>;

/** Stores what the account of a person's connection was listed, unless another one was connected in its place. */
export async function saveListedTools(em: EntityManager, { tools, connectionId }: ToolList): Promise<void> {
  const listed = tools
    .filter(({ name }) => name.length <= maxNameLength)
    .slice(0, maxTools)
    .map((tool) => [tool.name, schemaHash(tool)] as const);
  await em.execute(
    `update mcp_connections set listed_tools = ?::jsonb
     where id = ? and owner_id is not null and withdrawn_at is null`,
    [JSON.stringify(Object.fromEntries(listed)), connectionId],
  );
}

/** The lists of a person's accounts at the personal servers of a space, by server; without those not read yet. */
export async function listedTools(
  em: EntityManager,
  { spaceId, principalId }: { spaceId: string; principalId: string },
): Promise<Map<string, ListedTools>> {
  const rows = await em.execute<{ server_id: string; listed_tools: Record<string, string> }[]>(
    `select c.server_id, c.listed_tools
     from mcp_connections c join mcp_servers s on s.tenant_id = c.tenant_id and s.id = c.server_id
     where s.space_id = ? and s.connection_mode = 'personal' and c.owner_id = ? and c.withdrawn_at is null
       and c.listed_tools is not null`,
    [spaceId, principalId],
  );
  return new Map(rows.map((row) => [row.server_id, new Map(Object.entries(row.listed_tools))]));
}
