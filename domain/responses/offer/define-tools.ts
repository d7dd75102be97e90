import type { EntityManager } from '@mikro-orm/postgresql';
import type { OfferedMcpTool } from '#domain/responses/record/response-request.ts';
import type { FittedTool } from './share-room.ts';

type Definition = Pick<OfferedMcpTool, 'description' | 'parameters'>;

interface Row extends Definition {
  label: string;
  tool: string;
}

/** Adds the definitions to the tools. A tool whose definition has changed meanwhile is left out. */
export async function defineTools<Tool extends FittedTool>(
  em: EntityManager,
  spaceId: string,
  tools: readonly Tool[],
): Promise<(Tool & Definition)[]> {
  const wanted = tools.map(({ server_label: label, tool, schema_hash: hash }) => ({ label, tool, hash }));
  const rows =
    wanted.length === 0
      ? []
      : await em.execute<Row[]>(
          `select s.slug as label, t.name as tool, t.description, t.input_schema as parameters
           from jsonb_to_recordset(?::jsonb) as wanted (label text, tool text, hash text)
             join mcp_servers s on s.space_id = ? and s.slug = wanted.label
             join mcp_tools t on t.tenant_id = s.tenant_id and t.server_id = s.id
               and t.name = wanted.tool and t.schema_hash = wanted.hash`,
          [JSON.stringify(wanted), spaceId],
        );
  const keyOf = (label: string, tool: string) => JSON.stringify([label, tool]);
  const known = new Map(rows.map((row) => [keyOf(row.label, row.tool), row]));
  return tools.flatMap((tool) => {
    const row = known.get(keyOf(tool.server_label, tool.tool));
    return row === undefined ? [] : [{ ...tool, description: row.description, parameters: row.parameters }];
  });
}
