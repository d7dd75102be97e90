import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sendOver, type Answer } from '../support/gateway.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { connect } from '../support/tables.ts';
import { createWorld, type World } from '../support/world.ts';

let database: TestDatabase;
let stack: Stack;
let world: World;
let admin: Client;
const gateway = sendOver(() => stack.gateways[0]!);
const copies = 20_000;

beforeAll(async () => {
  database = await createTestDatabase();
  admin = await connect(database.adminUrl);
  world = await createWorld(database.unitOfWork);
  stack = await startStack({ database });
});
afterAll(async () => {
  await stack?.stop();
  await admin?.end();
  await database?.drop();
});

const send = (method: string, path: string, body?: object): Promise<Answer> =>
  gateway.send({
    method,
    path: `/v1/spaces/${world.spaceId}${path}`,
    apiKey: world.apiKey,
    ...(body && { body }),
  });

/** Of a text that English and German stem differently. */
async function upload(collection: string): Promise<string> {
  const made = await send('POST', `/collections/${collection}/documents`, {
    filename: 'hafen.txt',
    media_type: 'text/plain',
    content: 'Die Häuser am Hafen sind rot.',
  });
  const id = made.body.data.id as string;
  await expect
    .poll(async () => (await send('GET', `/collections/${collection}/documents/${id}`)).body.data.status, {
      timeout: 30_000,
    })
    .toBe('ready');
  return id;
}

async function copyDocument(id: string): Promise<void> {
  await admin.query(
    `with made as (
       insert into documents (tenant_id, id, collection_id, filename, media_type, status, content_key, content_hash,
         byte_size, chunk_count, generation, created_by)
       select d.tenant_id, gen_random_uuid(), d.collection_id, d.filename, d.media_type, d.status, d.content_key,
         d.content_hash, d.byte_size, d.chunk_count, d.generation, d.created_by
       from documents d cross join generate_series(1, $2) where d.id = $1 returning id)
     insert into chunks (tenant_id, document_id, generation, position, collection_id, text, start_offset, end_offset, config)
     select c.tenant_id, m.id, c.generation, c.position, c.collection_id, c.text || n, c.start_offset, c.end_offset, c.config
     from chunks c cross join (select id, row_number() over () as n from made) m where c.document_id = $1`,
    [id, copies],
  );
  // As autovacuum does a while after so many rows.
  await admin.query('analyze');
}

it('the language of a collection changes on through kills of workers, while searches find its passages', async () => {
  const collection = (await send('POST', '/collections', { name: 'Hafen' })).body.data.id as string;
  await copyDocument(await upload(collection));
  const progress = async () => {
    const { body } = await send('GET', `/collections/${collection}`);
    const { language_change: change } = body.data.statistics as {
      language_change: { chunks_done: number; chunks_total: number } | null;
    };
    return change;
  };
  const search = { isOver: false };
  const answers: string[] = [];
  const searching = (async () => {
    while (!search.isOver) {
      const query = { query: 'Häuser', collection_ids: [collection], max_results: 3, alpha: 0 };
      const { status, body } = await send('POST', '/tools/knowledge_search/execute', query);
      answers.push(`${status} ${(body.data?.results as unknown[] | undefined)?.length}`);
      await sleep(50);
    }
  })();
  try {
    expect((await send('PATCH', `/collections/${collection}`, { text_search_config: 'german' })).status).toBe(
      200,
    );
    for (let killed = 0; killed < 2; killed += 1) {
      const from = (await progress())!.chunks_done;
      await expect
        .poll(async () => (await progress())!.chunks_done, { timeout: 60_000, interval: 50 })
        .toBeGreaterThan(from);
      await stack.workers.at(-1)!.kill();
      const stopped = (await progress())!;
      expect(stopped.chunks_done).toBeGreaterThan(0);
      expect(stopped.chunks_done).toBeLessThan(stopped.chunks_total);
      await stack.start('worker');
    }
    // A further change is taken up by the work that goes on.
    expect((await send('PATCH', `/collections/${collection}`, { text_search_config: 'dutch' })).status).toBe(
      200,
    );
    await upload(collection);
    await expect.poll(progress, { timeout: 120_000, interval: 200 }).toBeNull();
  } finally {
    search.isOver = true;
    await searching;
  }
  expect(new Set(answers)).toEqual(new Set(['200 3']));
  expect(answers.length).toBeGreaterThan(10);
  const { rows } = await admin.query(
    'select config::text as config, count(*)::int4 as n from chunks where collection_id = $1 group by 1',
    [collection],
  );
  expect(rows).toEqual([{ config: 'dutch', n: copies + 2 }]);
}, 300_000);
