import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startEmbeddingServer, type EmbeddingServer } from '../support/embedding-server.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { ingest } from '../support/ingest.ts';
import { Maker } from '../support/places.ts';
import { connect } from '../support/tables.ts';
import { embeddersFor, silence, useServer } from '../support/vendor-space.ts';
import { createWorld, type World } from '../support/world.ts';

const dims = 48;
let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
let silent: EmbeddingServer;
let good: EmbeddingServer;
let embedders: Embedders;
const maker = new Maker(() => gateway);

beforeAll(async () => {
  database = await createTestDatabase();
  silent = await startEmbeddingServer(dims);
  silence(silent);
  good = await startEmbeddingServer(dims);
  embedders = embeddersFor([silent, good]);
  gateway = await openGateway(database, {}, embedders);
  admin = await connect(database.adminUrl);
});
afterAll(async () => {
  await silent?.stop();
  await good?.stop();
  await admin?.end();
  await gateway?.close();
  await database?.drop();
});

/** A tenant with a document without vectors, whose questions a server embeds. */
async function tenantOf(server: EmbeddingServer): Promise<World> {
  const world = await createWorld(database.unitOfWork);
  const place = { ...world, modelAlias: '' };
  const documentId = await maker.document(place, await maker.collection(place));
  await ingest({ unitOfWork: database.unitOfWork }, { tenantId: world.tenantId, documentId });
  await useServer(admin, world, { server, dims });
  return world;
}

async function search({ spaceId, apiKey }: World): Promise<{ answer: Answer; tookMs: number }> {
  const since = performance.now();
  const answer = await gateway.send({
    method: 'POST',
    path: `/v1/spaces/${spaceId}/tools/knowledge_search/execute`,
    apiKey,
    body: { query: 'Which colour is the beacon?' },
  });
  return { answer, tookMs: performance.now() - since };
}

it('searches of others answer at once while the vendors of some tenants do not', async () => {
  const slow = [await tenantOf(silent), await tenantOf(silent), await tenantOf(silent)];
  const other = await tenantOf(good);
  // More of each tenant than it has places, and more of all than the gateway has.
  const waiting = slow.flatMap((world) => Array.from({ length: 12 }, () => search(world)));
  await expect.poll(() => silent.requests.length, { timeout: 5_000 }).toBe(slow.length * 8);
  const { answer, tookMs } = await search(other);
  expect(answer.status, answer.text).toBe(200);
  expect(answer.body.data).toMatchObject({ mode: 'hybrid', reason: 'not_embedded' });
  expect(tookMs).toBeLessThan(1_500);
  const answers = await Promise.all(waiting);
  for (const { answer: late } of answers) {
    expect(late.status, late.text).toBe(200);
    expect(late.body.data).toMatchObject({
      mode: 'keyword',
      reason: 'embedding_unavailable',
      results: [{ filename: 'a.txt' }],
    });
  }
  // Those beyond the share of their tenant did not wait for the vendor.
  expect(answers.filter((each) => each.tookMs < 3_000).length).toBeGreaterThanOrEqual(slow.length);
  expect(silent.requests).toHaveLength(slow.length * 8);
}, 30_000);
