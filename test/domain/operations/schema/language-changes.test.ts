import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, inject, it } from 'vitest';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { createDatabase, dropDatabase } from '#test/support/database-admin.ts';
import { databaseUrl } from '#test/support/database-urls.ts';
import { connect } from '#test/support/tables.ts';

const roles = new URL('../../../../domain/operations/schema/roles.sql', import.meta.url);

it('the migration to changes of the language begins those that failed readings have left undone', async () => {
  const { adminUrl } = inject('postgres');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await createDatabase(adminUrl, { name });
  const url = databaseUrl(adminUrl, name);
  const orm = createOrm({ url, statementTimeoutMs: 30_000, poolSize: 1 });
  const admin = await connect(url);
  try {
    await admin.query(readFileSync(roles, 'utf8'));
    await orm.migrator.up({ to: 'Migration20261127060000' });
    // Rows of tables that the migration does not read are left out.
    await admin.query('set session_replication_role = replica');
    const tenantId = newId();
    await admin.query(`insert into tenants (tenant_id, slug, name) values ($1, 't', 'T')`, [tenantId]);
    const collection = async (documents: [status: string, generation: number, config: string][]) => {
      const id = newId();
      await admin.query(
        `insert into collections (tenant_id, id, space_id, name, created_by, text_search_config, chunk_count)
         values ($1, $2, $3, 'C', $3, 'german', $4)`,
        [tenantId, id, newId(), 3 * documents.length],
      );
      for (const [status, generation, config] of documents) {
        const documentId = newId();
        await admin.query(
          `insert into documents (tenant_id, id, collection_id, filename, media_type, status, content_key, content_hash,
             byte_size, chunk_count, generation, created_by)
           values ($1, $2, $3, 'a', 'text/plain', $4, 'k', 'h', 1, 3, 2, $3)`,
          [tenantId, documentId, id, status],
        );
        await admin.query(
          `insert into chunks (tenant_id, document_id, generation, position, collection_id, text, start_offset, end_offset, config)
           select $1, $2, $3, n, $4, 'Ein Bär.', 0, 7, $5::regconfig from generate_series(0, 2) n`,
          [tenantId, documentId, generation, id, config],
        );
      }
      return id;
    };
    const left = await collection([
      ['ready', 2, 'german'],
      ['failed', 2, 'english'],
      ['failed', 2, 'english'],
      ['processing', 2, 'french'],
    ]);
    await collection([
      ['failed', 2, 'german'],
      // Passages that another reading has replaced, and that the purge deletes.
      ['failed', 1, 'english'],
    ]);
    await orm.migrator.up();
    const { rows } = await admin.query(
      'select collection_id, former::text[], chunks_total::int4, chunks_done::int4 from language_changes',
    );
    expect(rows).toEqual([
      { collection_id: left, former: ['english', 'french'], chunks_total: 12, chunks_done: 0 },
    ]);
  } finally {
    await admin.end();
    await orm.close(true);
    await dropDatabase(adminUrl, name);
  }
});
