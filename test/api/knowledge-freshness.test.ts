import { MockActivityEnvironment } from '@temporalio/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import { FairSemaphore } from '#domain/foundation/kernel/fair-semaphore.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { finishIngestion } from '#domain/knowledge/ingestion/finish-ingestion.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { openGateway, type Answer, type TestGateway } from '../support/gateway.ts';
import { Maker } from '../support/places.ts';
import { connect } from '../support/tables.ts';
import { wordEmbedders } from '../support/word-embedders.ts';
import { createWorld, type World } from '../support/world.ts';
import { extractor } from '../support/extractor.ts';

const tenants = 5;
const documentsOfTenant = 40;

interface Stored {
  world: World;
  collectionId: string;
  documentId: string;
  /** A word that only this document contains. */
  word: string;
}

const embedders = wordEmbedders();
let database: TestDatabase;
let gateway: TestGateway;
let admin: Client;
const worlds: World[] = [];
const stored: Stored[] = [];
const maker = new Maker(() => gateway);

beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await openGateway(database, {}, embedders);
  admin = await connect(database.adminUrl);
  for (let tenant = 0; tenant < tenants; tenant += 1) {
    const world = await createWorld(database.unitOfWork);
    worlds.push(world);
    const collectionId = await maker.collection({ ...world, modelAlias: '' });
    for (let number = 0; number < documentsOfTenant; number += 1) {
      stored.push(await add(world, collectionId, wordOf(tenant * documentsOfTenant + number)));
    }
    await embed(world);
  }
});
afterAll(async () => {
  await admin?.end();
  await gateway?.close();
  await database?.drop();
});

/** Of consonants and equally long, so that no two have one stem and none begins another. */
const wordOf = (number: number, prefix = 'zq') =>
  prefix + String(1_000 + number).replace(/\d/g, (digit) => 'bcdfghjkmn'[Number(digit)]!);

async function add(world: World, collectionId: string, word: string): Promise<Stored> {
  const body = { filename: `${word}.txt`, media_type: 'text/plain', content: word };
  const path = `/v1/spaces/${world.spaceId}/collections/${collectionId}/documents`;
  const made = await gateway.send({ method: 'POST', path, apiKey: world.apiKey, body });
  const document = { world, collectionId, documentId: made.body.data.id as string, word };
  await read(document, word);
  return document;
}

/** What the workflow of a document does after its text was extracted. */
const read = ({ world, documentId }: Stored, word: string) =>
  database.unitOfWork.inTenant(world.tenantId, async (em) => {
    const text = `The ${word} lamp stands at the end of the pier.`;
    const chunk = { heading: null, text, start: 0, end: text.length, page: null, anchor: null };
    await storePassages(em, { documentId, readingId: newId(), chunks: [chunk] });
    await finishIngestion(em, documentId, null);
  });

async function embed({ tenantId, spaceId }: World): Promise<void> {
  const activities = createKnowledgeActivities({
    unitOfWork: database.unitOfWork,
    extractor,
    embedders,
  });
  await new MockActivityEnvironment().run(activities.embedSpace, { tenantId, spaceId });
}

const sides = { keyword: 0, meaning: 1 } as const;

/** Twice as many as the gateway runs at a time: refusals and their repeats would take most of the processor time. */
const searches = new FairSemaphore({
  slots: 16 * tenants,
  slotsPerKey: 16,
  waitersPerKey: 2 * documentsOfTenant,
  waitMs: 120_000,
});

async function search(world: World, body: { query: string; alpha: number }): Promise<Answer> {
  const path = `/v1/spaces/${world.spaceId}/tools/knowledge_search/execute`;
  const release = await searches.acquire(world.tenantId, undefined);
  return gateway.send({ method: 'POST', path, apiKey: world.apiKey, body }).finally(release);
}

/** The passages that contain the word, in the answer of the next search that may not be tried again later. */
async function found({ world }: Stored, word: string, alpha: number) {
  for (;;) {
    const answer = await search(world, { query: word, alpha });
    if (answer.status !== 429 && answer.body.error?.code !== 'overloaded') {
      expect(answer.status, answer.text).toBe(200);
      expect(answer.body.data.mode).toBe(alpha === 0 ? 'keyword' : 'hybrid');
      return (answer.body.data.results as { text: string }[]).filter(({ text }) => text.includes(word));
    }
    await sleep(200);
  }
}

async function remove({ world, collectionId, documentId }: Stored): Promise<void> {
  const path = `/v1/spaces/${world.spaceId}/collections/${collectionId}/documents/${documentId}`;
  const answer = await gateway.send({ method: 'DELETE', path, apiKey: world.apiKey });
  expect(answer.status, answer.text).toBe(200);
}

async function replace(document: Stored, word: string): Promise<void> {
  const { world, documentId } = document;
  await database.unitOfWork.inTenant(world.tenantId, (em) =>
    em.execute(`update documents set status = 'processing' where id = ?`, [documentId]),
  );
  await read(document, word);
}

it('is not found by the next search after it was deleted or replaced, 200 times at once', async () => {
  const stale: string[] = [];
  const working = new AbortController();
  // The vectors of new passages are stored meanwhile.
  const embedding = worlds.map(async (world) => {
    while (!working.signal.aborted) {
      await embed(world);
      await sleep(50);
    }
  });
  const change = async (document: Stored, number: number) => {
    const { word } = document;
    for (const alpha of Object.values(sides)) {
      expect(await found(document, word, alpha)).toHaveLength(1);
    }
    const isReplaced = number % 2 === 0;
    const next = wordOf(number, 'xw');
    await (isReplaced ? replace(document, next) : remove(document));
    for (const [side, alpha] of Object.entries(sides)) {
      const hits = await found(document, word, alpha);
      stale.push(...hits.map(() => `${isReplaced ? 'replaced' : 'deleted'} ${word} by ${side}`));
    }
    if (isReplaced) {
      expect(await found(document, next, 0)).toHaveLength(1);
    }
  };
  const changes = await Promise.allSettled(stored.map(change));
  working.abort();
  await Promise.all(embedding);
  expect(changes.flatMap((change) => (change.status === 'rejected' ? [change.reason] : []))).toEqual([]);
  expect(stale).toEqual([]);
  const { rows } = await admin.query(
    `select v.document_id from chunk_vectors v
     where not exists (select from documents d where d.id = v.document_id and d.generation = v.generation)`,
  );
  expect(rows).toEqual([]);
});
