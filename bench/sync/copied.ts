import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from 'pg';
import type { World } from '#test/support/world.ts';
import type { Connected } from './connected.ts';

/** What a run stores, in the order of the references among its tables. */
const tables: readonly { name: string; where: string }[] = [
  {
    name: 'stored_objects',
    where:
      'key in (select content_key from documents where tenant_id = $tenant and collection_id = $collection)',
  },
  {
    name: 'stored_parts',
    where:
      'key in (select content_key from documents where tenant_id = $tenant and collection_id = $collection)',
  },
  { name: 'documents', where: 'collection_id = $collection' },
  { name: 'chunks', where: 'collection_id = $collection' },
  { name: 'source_documents', where: 'connector_id = $connector' },
];

/** Seconds of `COPY`, each table in a transaction of its own. */
export interface Copied {
  /** Into the same tables, with their indexes, constraints and triggers. */
  seconds: number;
  /** Names and texts into a table with nothing but a key. */
  bareSeconds: number;
}

/** Copies what a run has stored into the same tables, as rows of another tenant, and the texts into a bare table. */
export async function copyAgain(
  admin: Client,
  { collectionId, connectorId }: Connected,
  { from, to }: { from: World; to: World },
): Promise<Copied> {
  const folder = mkdtempSync(join(tmpdir(), 'platform-copy-'));
  // The server writes there, perhaps as another user.
  chmodSync(folder, 0o777);
  const fill = (text: string) =>
    text
      .replaceAll('$tenant', `'${from.tenantId}'`)
      .replaceAll('$collection', `'${collectionId}'`)
      .replaceAll('$connector', `'${connectorId}'`);
  const replaced: Record<string, string> = {
    tenant_id: `'${to.tenantId}'::uuid`,
    space_id: `'${to.spaceId}'::uuid`,
    created_by: `'${to.owner.principalId}'::uuid`,
    principal_id: `'${to.owner.principalId}'::uuid`,
    credential_id: 'null',
  };
  const columnsOf = async (table: string) => {
    const { rows } = await admin.query<{ name: string }>(
      `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0
         and not attisdropped and attgenerated = '' order by attnum`,
      [table],
    );
    return rows.map(({ name }) => name);
  };
  const move = async (table: string, where: string) => {
    const columns = await columnsOf(table);
    const values = columns.map((name) =>
      table === 'collections' && name === 'chunk_count' ? '0' : (replaced[name] ?? name),
    );
    const file = join(folder, `${table}.copy`);
    await admin.query(
      `copy (select ${values.join(', ')} from ${table} where tenant_id = '${from.tenantId}' and ${fill(where)}) to '${file}'`,
    );
    return timed(() => admin.query(`copy ${table} (${columns.join(', ')}) from '${file}'`));
  };
  try {
    await move('collections', 'id = $collection');
    await move('connectors', 'id = $connector');
    let seconds = 0;
    for (const { name, where } of tables) {
      seconds += await move(name, where);
    }
    const bare = join(folder, 'bare.copy');
    await admin.query(
      fill(`copy (select d.id, d.filename, string_agg(convert_from(p.bytes, 'UTF8'), '' order by p.position) from documents d
        join stored_parts p on p.tenant_id = d.tenant_id and p.key = d.content_key
        where d.tenant_id = $tenant and d.collection_id = $collection group by d.id, d.filename) to '${bare}'`),
    );
    await admin.query('create table copied (id uuid primary key, name text, content text)');
    const bareSeconds = await timed(() => admin.query(`copy copied from '${bare}'`));
    await admin.query('drop table copied');
    return { seconds, bareSeconds };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1_000;
}
