import { MockActivityEnvironment } from '@temporalio/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import { builtinModel } from '#adapters/models/builtin.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { deleteCollection } from '#domain/knowledge/collections/delete-collection.ts';
import { deleteDocument } from '#domain/knowledge/collections/delete-document.ts';
import type { DocumentMediaType } from '#domain/knowledge/collections/document-status.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { knowledgeTool } from '#domain/knowledge/search/knowledge-definition.ts';
import { relevantPassages } from '#domain/knowledge/search/knowledge-result.ts';
import { runKnowledgeTool } from '#domain/knowledge/search/knowledge-tool.ts';
import type { KnowledgeQuery } from '#domain/knowledge/search/knowledge-query.ts';
import { searchKnowledge } from '#domain/knowledge/search/search-knowledge.ts';
import type { ModelRequest, PromptMessage } from '#domain/capabilities/models/model-gateway.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { openWorld, type KnowledgeWorld, type SpaceFixture } from '#test/support/knowledge-world.ts';
import { extractor } from '#test/support/extractor.ts';

let world: KnowledgeWorld;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => world.stop());

const guide = `# Harbour guide

Fish is sold on Fridays. The quay is long.

## Beacons

The Halden beacon is painted ultramarine. The Oslo beacon is painted crimson.

## Lighthouses

The lighthouse of Moss was built in 1871 by the harbour board.
`;

async function addCollection(space: SpaceFixture, textSearchConfig = 'english') {
  const { collection } = await world.act(space, (ctx) =>
    createCollection(ctx, { name: 'C', textSearchConfig }),
  );
  return collection.id;
}

async function addDocument(
  space: SpaceFixture,
  collectionId: string,
  content: string,
  mediaType: DocumentMediaType = 'text/markdown',
) {
  const { document } = await world.act(space, (ctx) =>
    uploadDocument(ctx, { collectionId, filename: 'guide.md', mediaType, content, metadata: { lang: 'en' } }),
  );
  const { ingestDocument } = createKnowledgeActivities({
    unitOfWork: world.unitOfWork,
    extractor,
  });
  const input = { tenantId: space.tenantId, documentId: document.id };
  expect(await new MockActivityEnvironment().run(ingestDocument, input)).toMatchObject({ status: 'ready' });
  return document.id;
}

const search = (space: SpaceFixture, query: string, rest: Partial<KnowledgeQuery> = {}) =>
  searchKnowledge(world.access(space), {
    spaceId: space.spaceId,
    collectionIds: null,
    query,
    limit: 5,
    alpha: 0.75,
    ...rest,
  });

const relevant = async (space: SpaceFixture, query: string) =>
  relevantPassages(await search(space, query)).map(({ text }) => text);

describe('searchKnowledge', () => {
  it('finds the passage that answers a question asked in other words', async () => {
    const space = await world.addSpace();
    const collectionId = await addCollection(space);
    const documentId = await addDocument(space, collectionId, guide);
    const { passages, mode } = await search(space, 'Which colour does the beacon of Halden have?');
    expect(mode).toBe('keyword');
    expect(passages[0]).toMatchObject({
      documentId,
      collectionId,
      filename: 'guide.md',
      heading: 'Harbour guide › Beacons',
      text: 'The Halden beacon is painted ultramarine. The Oslo beacon is painted crimson.',
      attributes: { lang: 'en' },
    });
    const [best] = passages;
    expect(best!.score).toBeGreaterThan(0.5);
    expect(best!.score).toBeLessThanOrEqual(1);
    expect(guide.slice(best!.start, best!.end)).toBe(best!.text);
  });

  it.each([
    'Which colour does the beacon of Halden have?',
    'Please tell me which colour the beacons in Halden are painted.',
    'halden beacon colour',
    'When were lighthouses built in Moss?',
    'Who sells fish on Fridays?',
  ])('holds a passage relevant for %j', async (question) => {
    const space = await world.addSpace();
    await addDocument(space, await addCollection(space), guide);
    expect(await relevant(space, question)).not.toEqual([]);
  });

  it.each([
    'What is the capital of Peru?',
    'Who is the mayor of Halden?',
    'How do I reset my password?',
    'the of and',
    `'; drop table chunks; -- \\ & | ! <-> :*`,
    '\0 \ud800',
  ])('holds no passage relevant for %j', async (question) => {
    const space = await world.addSpace();
    await addDocument(space, await addCollection(space), guide);
    expect(await relevant(space, question)).toEqual([]);
  });

  it('prefers the passage with the rarer words of the question', async () => {
    const space = await world.addSpace();
    const collectionId = await addCollection(space);
    for (let n = 0; n < 6; n += 1) {
      await addDocument(
        space,
        collectionId,
        `The harbour board met harbour people in harbour ${n}.`,
        'text/plain',
      );
    }
    await addDocument(space, collectionId, 'The harbour of Moss has a chandler.', 'text/plain');
    const { passages } = await search(space, 'harbour chandler');
    expect(passages[0]?.text).toBe('The harbour of Moss has a chandler.');
    expect(passages).toHaveLength(5);
  });

  it('searches each collection in its own language', async () => {
    const space = await world.addSpace();
    const german = await addCollection(space, 'german');
    await addCollection(space, 'english');
    await addDocument(space, german, 'Die Häuser am Hafen sind rot.', 'text/plain');
    const { passages } = await search(space, 'Welches Haus steht am Hafen?');
    expect(passages.map(({ text }) => text)).toEqual(['Die Häuser am Hafen sind rot.']);
  });

  it('searches only the requested collections', async () => {
    const space = await world.addSpace();
    const [one, two] = [await addCollection(space), await addCollection(space)];
    await addDocument(space, one, 'The beacon is red.', 'text/plain');
    await addDocument(space, two, 'The beacon is blue.', 'text/plain');
    const { passages } = await search(space, 'beacon', { collectionIds: [two, two] });
    expect(passages.map(({ collectionId }) => collectionId)).toEqual([two]);
    expect((await search(space, 'beacon', { collectionIds: [] })).passages).toEqual([]);
  });

  it('answers 404 for a collection of another space or tenant', async () => {
    const space = await world.addSpace();
    const collectionId = await addCollection(space);
    for (const other of [await world.addSpace(space.tenantId), await world.addSpace()]) {
      const found = search(other, 'beacon', { collectionIds: [collectionId] });
      await expect(found).rejects.toMatchObject({ code: 'collection_not_found' });
    }
  });

  it('returns nothing to another tenant or space, even for the same words', async () => {
    const space = await world.addSpace();
    await addDocument(space, await addCollection(space), guide);
    for (const other of [await world.addSpace(space.tenantId), await world.addSpace()]) {
      await addCollection(other);
      expect(await search(other, 'Halden beacon')).toMatchObject({ passages: [], mode: 'keyword' });
    }
    const stolen = { ...(await world.addSpace()), spaceId: space.spaceId };
    expect((await search(stolen, 'Halden beacon')).passages).toEqual([]);
  });

  it('finds nothing of a deleted document or collection', async () => {
    const space = await world.addSpace();
    const collectionId = await addCollection(space);
    const documentId = await addDocument(space, collectionId, guide);
    await addDocument(space, collectionId, 'The Halden beacon is old.', 'text/plain');
    await world.act(space, (ctx) => deleteDocument(ctx, { collectionId, documentId }));
    const { passages } = await search(space, 'Halden beacon');
    expect(passages.map(({ text }) => text)).toEqual(['The Halden beacon is old.']);
    await world.act(space, (ctx) => deleteCollection(ctx, { collectionId }));
    expect((await search(space, 'Halden beacon')).passages).toEqual([]);
  });
});

describe('runKnowledgeTool', () => {
  const call = (space: SpaceFixture, args: string, collectionIds: string[] | null = null) =>
    runKnowledgeTool(world.access(space), {
      spaceId: space.spaceId,
      tool: { collection_ids: collectionIds, max_num_results: 5, alpha: 0.75 },
      arguments: args,
      firstLabel: 2,
    });

  it('sends labelled passages to the model and returns the same as results', async () => {
    const space = await world.addSpace();
    await addDocument(space, await addCollection(space), guide);
    const reply = await call(space, '{"query":"Which colour does the beacon of Halden have?"}');
    expect(reply.failed).toBe(false);
    expect(JSON.parse(reply.text)).toMatchObject({
      results: [{ label: '[3]', heading: 'Harbour guide › Beacons' }],
      mode: 'keyword',
    });
    expect(reply.results).toMatchObject([{ filename: 'guide.md', attributes: { lang: 'en' } }]);
  });

  it('returns an empty list when the fact is absent', async () => {
    const space = await world.addSpace();
    await addDocument(space, await addCollection(space), guide);
    const reply = await call(space, '{"query":"Who is the mayor of Bergen?"}');
    expect(reply).toEqual({ failed: false, text: '{"results":[],"mode":"keyword"}', results: [] });
  });

  it('reports bad arguments and a deleted collection to the model, without throwing', async () => {
    const space = await world.addSpace();
    expect(await call(space, '{"que')).toMatchObject({ failed: true, results: null });
    const reply = await call(space, '{"query":"x"}', [newId()]);
    expect(reply).toMatchObject({ failed: true, text: '{"error":"No such collection."}' });
  });

  it.each([
    [
      'Which colour does the beacon of Halden have?',
      'The Halden beacon is painted ultramarine. [3]\n\nThe Oslo beacon is painted crimson. [3]',
    ],
    [
      'When was the lighthouse in Moss built?',
      'The lighthouse of Moss was built in 1871 by the harbour board. [3]',
    ],
  ])('lets the builtin model answer %j with the sentence of the document', async (question, expected) => {
    const space = await world.addSpace();
    await addDocument(space, await addCollection(space), guide);
    expect(await converse(space, question)).toBe(`From the documents of this space:\n\n${expected}`);
  });

  it('lets the builtin model say that it found nothing about an absent fact', async () => {
    const space = await world.addSpace();
    await addDocument(space, await addCollection(space), guide);
    const said = await converse(space, 'What is the capital of Peru?');
    expect(said).toBe('I found nothing about this in the documents of this space.');
  });

  async function converse(space: SpaceFixture, question: string): Promise<string> {
    const messages: PromptMessage[] = [{ role: 'user', text: question }];
    for (;;) {
      let text = '';
      for await (const part of builtinModel.stream(requestOf(messages), new AbortController().signal)) {
        if (part.type === 'text') {
          text += part.text;
        } else if (part.type === 'tool_call') {
          const { text: result } = await call(space, part.arguments);
          messages.push({ role: 'tool', callId: 'c', name: part.name, result });
        } else if (part.type === 'finish' && part.reason === 'stop') {
          return text;
        }
      }
    }
  }

  const requestOf = (messages: PromptMessage[]): ModelRequest => ({
    tenantId: 'tenant',
    model: {
      alias: 'builtin',
      providerKind: 'builtin',
      providerModel: 'builtin',
      baseUrl: null,
      credentialRef: null,
      maxOutputTokens: 1_000,
      supportsReasoning: false,
      storesRuns: false,
      inputModalities: ['text'],
    },
    messages,
    tools: [knowledgeTool],
    toolChoice: 'auto',
    parallelToolCalls: true,
    maxOutputTokens: 1_000,
    temperature: null,
    topP: null,
    reasoningEffort: null,
    reasoningSummary: null,
    resume: null,
    format: { type: 'text' },
  });
});
