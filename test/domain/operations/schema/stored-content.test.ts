import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, inject, it, vi } from 'vitest';
import { sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { applyFunctions, readFunctionFiles } from '#domain/operations/schema/apply-functions.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { createDatabase, dropDatabase } from '../../../support/database-admin.ts';
import { databaseUrl } from '../../../support/database-urls.ts';
import { openWorld } from '../../../support/knowledge-world.ts';
import { connect } from '../../../support/tables.ts';

const migrations = new URL('../../../../domain/operations/schema/migrations/', import.meta.url);

it('the migration to stored content keeps what documents and passages of the version before hold', async () => {
  const { adminUrl } = inject('postgres');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await createDatabase(adminUrl, { name });
  const url = databaseUrl(adminUrl, name);
  const orm = createOrm({ url, statementTimeoutMs: 30_000, poolSize: 1 });
  const admin = await connect(url);
  try {
    await admin.query(readFileSync(new URL('../roles.sql', migrations), 'utf8'));
    await orm.migrator.up({ to: 'Migration20261121000000' });
    const [tenantId, spaceId, principalId, collectionId] = [newId(), newId(), newId(), newId()];
    await admin.query(`insert into tenants (tenant_id, slug, name) values ($1, 't', 'T')`, [tenantId]);
    await admin.query(`insert into principals (tenant_id, id, type) values ($1, $2, 'user')`, [
      tenantId,
      principalId,
    ]);
    await admin.query(`insert into spaces (tenant_id, id, name) values ($1, $2, 'S')`, [tenantId, spaceId]);
    await admin.query(
      `insert into collections (tenant_id, id, space_id, name, created_by) values ($1, $2, $3, 'C', $4)`,
      [tenantId, collectionId, spaceId, principalId],
    );
    const long = 'Ein Bär. '.repeat(40_000);
    const add = async (content: string, chunks: number) => {
      const id = newId();
      await admin.query(
        `insert into documents (tenant_id, id, collection_id, filename, media_type, status, content, content_hash, byte_size, chunk_count, created_by)
         values ($1, $2, $3, 'a', 'text/plain', $4, $5, $6, octet_length($5), $7, $8)`,
        [
          tenantId,
          id,
          collectionId,
          chunks > 0 ? 'ready' : 'failed',
          content,
          sha256(content),
          chunks,
          principalId,
        ],
      );
      for (let n = 0; n < chunks; n += 1) {
        await admin.query(
          `insert into chunks (tenant_id, document_id, position, collection_id, text, start_offset, end_offset, config)
           values ($1, $2, $3, $4, 'A bear.', 0, 7, 'english')`,
          [tenantId, id, n, collectionId],
        );
      }
      return id;
    };
    const [one, two, failed] = [await add(long, 2), await add(long, 1), await add('Other.', 0)];
    await orm.migrator.up();
    await orm.em.getConnection().transactional(async (transaction) => {
      await applyFunctions(
        (sql, params) => orm.em.getConnection().execute(sql, params, 'all', transaction),
        readFunctionFiles(),
      );
    });
    const { rows } = await admin.query<{ id: string; content: string; hash: string; generation: number }>(
      `select d.id, d.generation, o.sha256 = d.content_hash and o.byte_size = d.byte_size as hash,
         (select convert_from(string_agg(p.bytes, '' order by p.position), 'UTF8') from stored_parts p
          where p.tenant_id = d.tenant_id and p.key = d.content_key) as content
       from documents d join stored_objects o on o.tenant_id = d.tenant_id and o.key = d.content_key`,
    );
    const byId = new Map(rows.map((row) => [row.id, row]));
    expect(byId.get(one)).toEqual({ id: one, content: long, hash: true, generation: 1 });
    expect(byId.get(two)).toEqual({ id: two, content: long, hash: true, generation: 1 });
    expect(byId.get(failed)).toEqual({ id: failed, content: 'Other.', hash: true, generation: 0 });
    // What a gateway and a worker of the version before write, beside new ones.
    const late = await add('Bär, spät.', 0);
    await admin.query(`update documents set status = 'processing' where id = $1`, [late]);
    await admin.query(`update documents set status = 'ready' where id = $1`, [late]);
    const [kept] = (
      await admin.query(
        `select d.generation, convert_from(p.bytes, 'UTF8') as content from documents d
         join stored_parts p on p.tenant_id = d.tenant_id and p.key = d.content_key where d.id = $1`,
        [late],
      )
    ).rows;
    expect(kept).toEqual({ generation: 1, content: 'Bär, spät.' });
    await admin.query('delete from documents where id = $1', [late]);
    await admin.query('delete from stored_objects where purge_after is not null');
    const counts = await admin.query(
      `select (select chunk_count::int from collections) as passages, (select count(*)::int from chunks where generation = 1) as chunks,
         (select count(*)::int from stored_objects) as objects, (select count(*)::int from stored_parts) as parts`,
    );
    expect(counts.rows).toEqual([{ passages: 3, chunks: 3, objects: 2, parts: 3 }]);
  } finally {
    await Promise.all([admin.end(), orm.close(true)]);
    await dropDatabase(adminUrl, name);
  }
});

it('gateways of the version before may write equal content at once', async () => {
  const world = await openWorld();
  const [one, two] = await Promise.all([connect(world.url), connect(world.url)]);
  try {
    const space = await world.addSpace();
    const { tenantId, principalId } = space;
    const { collection } = await world.act(space, (ctx) => createCollection(ctx, { name: 'C' }));
    const add = async (client: typeof one) => {
      await client.query('begin');
      await client.query(`select set_config('app.tenant_id', $1, true)`, [tenantId]);
      await client.query(
        `insert into documents (tenant_id, id, collection_id, filename, media_type, content, content_hash, byte_size, created_by)
         values ($1, $2, $3, 'a', 'text/plain', 'Equal.', $4, 6, $5)`,
        [tenantId, newId(), collection.id, sha256('Equal.'), principalId],
      );
    };
    await add(one);
    const second = add(two);
    await vi.waitFor(async () => {
      const waiting = await world.admin.query(
        `select from pg_locks l join pg_stat_activity a on a.pid = l.pid
         where a.datname = current_database() and not l.granted`,
      );
      expect(waiting.rowCount).toBe(1);
    });
    await one.query('commit');
    await second;
    await two.query('commit');
    const { rows } = await world.admin.query(
      'select count(*)::int as documents, count(distinct content_key)::int as contents from documents where tenant_id = $1',
      [tenantId],
    );
    expect(rows).toEqual([{ documents: 2, contents: 1 }]);
  } finally {
    await Promise.all([one.end(), two.end()]);
    await world.stop();
  }
});
