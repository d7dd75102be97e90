import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rssProvider } from '#adapters/sources/rss/provider.ts';
import type { ListedDocument, SourcePage } from '#domain/knowledge/connectors/source.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import { storePassages } from '#domain/knowledge/ingestion/store-passages.ts';
import { saveGroups } from '#domain/knowledge/synchronisation/save-groups.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { openMemorySteps, openSteps } from '#test/support/sources/run-steps.ts';
import { extractor } from '#test/support/extractor.ts';

let world: KnowledgeWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

const lines = (...all: string[]) => all.join('\r\n');
/** Documents that name a place in themselves with NUL. */
const oddPlaces = {
  'attachment.eml': lines(
    'From: a@b.example',
    'Subject: s',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=B',
    '',
    '--B',
    'Content-Type: text/plain',
    '',
    'hello there',
    '--B',
    'Content-Type: text/plain; charset=utf-8',
    "Content-Disposition: attachment; filename*=utf-8''a%00b.txt",
    '',
    'attached words',
    '--B--',
    '',
  ),
  'subject.eml': lines(
    'From: a@b.example',
    'Subject: =?utf-8?Q?a=00b?=',
    'Content-Type: text/plain',
    '',
    'hello there',
    '',
  ),
  'data.json': '{"a\\u0000b": "value"}',
};

describe('a document that names a place in itself with NUL', () => {
  it('is stored by a connector, with those beside it', async () => {
    const { source, space, whole } = await openMemorySteps(world);
    for (const [name, text] of Object.entries(oddPlaces)) source.put(name, text, { name });
    source.put('z', 'Zeta.');
    expect(await whole()).toMatchObject({ status: 'completed' });
    expect(Object.keys(await space.contents())).toEqual([...Object.keys(oddPlaces), 'z.md'].toSorted());
  });

  it.each([
    ['subject.eml', 'message/rfc822'],
    ['data.json', 'application/json'],
  ] as const)('is read when it is uploaded: %s', async (filename, mediaType) => {
    const content = oddPlaces[filename];
    const fixture = await world.addSpace();
    const { tenantId } = fixture;
    const { collection } = await world.act(fixture, (ctx) => createCollection(ctx, { name: 'C' }));
    const { document } = await world.act(fixture, (ctx) =>
      uploadDocument(ctx, { collectionId: collection.id, filename, mediaType, content }),
    );
    const read = () => Promise.resolve({ mediaType, content: Buffer.from(content) });
    const { chunks } = await extractor.extract({ tenantId, read }, AbortSignal.timeout(30_000));
    const reading = { documentId: document.id, readingId: 'r', chunks };
    const stored = await world.unitOfWork.inTenant(tenantId, (em) => storePassages(em, reading));
    expect(stored?.chunkCount).toBeGreaterThan(0);
  });
});

describe('a document that is listed with characters that PostgreSQL cannot store', () => {
  const half = 'x\ud800y';
  it.each<[string, Partial<ListedDocument> & { ref: string }, string]>([
    ['NUL in its reference', { ref: 'a\0b' }, 'ref_too_long'],
    ['half a surrogate pair in its reference', { ref: half }, 'ref_too_long'],
    ['an empty reference', { ref: '' }, 'ref_too_long'],
    ['a long reference', { ref: 'é'.repeat(1_001) }, 'ref_too_long'],
    ['NUL in its name', { ref: 'a', name: 'x\0y.md' }, 'stored'],
    ['half a surrogate pair in its name', { ref: 'a', name: `${half}.md` }, 'stored'],
    ['NUL in its address', { ref: 'a', url: 'https://x.example/\0' }, 'stored'],
    ['NUL in its version', { ref: 'a', version: '\0' }, 'stored'],
    [
      'NUL in an address of a reader',
      { ref: 'a', readers: { addresses: ['a\0@b.example'], groups: [] } },
      'stored',
    ],
    ['half a pair in a group of readers', { ref: 'a', readers: { addresses: [], groups: [half] } }, 'stored'],
  ])('does not end the run: %s', async (_, { ref, ...more }, becomes) => {
    const { source, space, whole } = await openMemorySteps(world);
    source.put(ref, 'Odd.', more);
    source.put('z', 'Zeta.');
    expect(await whole()).toMatchObject({ status: 'completed' });
    expect(Object.values(await space.contents()).toSorted()).toEqual(
      becomes === 'stored' ? ['Odd.', 'Zeta.'] : ['Zeta.'],
    );
    const odd = (await space.documents()).find((each) => each.ref !== 'z');
    expect(odd?.errorCode ?? odd?.state).toBe(becomes);
    // Nor the next one.
    expect(await whole()).toMatchObject({ status: 'completed' });
    expect((await space.documents()).map((each) => each.ref)).toContain('z');
    expect(await space.documents()).toHaveLength(2);
  });

  it('is nobody’s whose address cannot be stored, and its content changes all the same', async () => {
    const { source, space, whole } = await openMemorySteps(world);
    const readers = { addresses: ['a\0@b.example', 'b@b.example'], groups: ['g\0', 'h'] };
    source.put('a', 'One.', { version: '\0', readers });
    await whole();
    source.put('a', 'Two.', { version: '\0', readers });
    await whole();
    expect(await space.contents()).toEqual({ 'a.md': 'Two.' });
    const { rows } = await world.admin.query(
      'select source_readers from documents where collection_id = $1',
      [space.collectionId],
    );
    expect(rows).toEqual([{ source_readers: ['address:b@b.example', `group:${space.connectorId}:h`] }]);
  });

  const page = (more: Partial<SourcePage>): SourcePage => ({
    documents: [],
    gone: [],
    next: null,
    checkpoint: null,
    total: null,
    scope: 'changes',
    ...more,
  });

  it('is gone with the others of its page', async () => {
    const { source, space, whole } = await openMemorySteps(world);
    source.put('a', 'Alpha.');
    await whole();
    source.page = () => page({ gone: ['x\0', half, '', 'a'] });
    expect(await whole()).toMatchObject({ status: 'completed' });
    expect(await space.contents()).toEqual({});
  });

  it.each([{ next: 'a\0' }, { checkpoint: half }])(
    'cursors that cannot be stored are the fault of the source: %j',
    async (more) => {
      const { source, begin, fetch } = await openMemorySteps(world);
      source.page = () => page(more);
      await begin();
      await expect(fetch()).rejects.toMatchObject({ type: 'source_invalid' });
    },
  );

  it('lets the other members of its groups be saved', async () => {
    const { space, begin } = await openMemorySteps(world);
    const runId = await begin();
    const groups = [
      { id: 'g\0', members: ['a@b.example'] },
      { id: 'h', members: ['a\0@b.example', 'b@b.example'] },
    ];
    await world.unitOfWork.inTenant(space.ids.tenantId, (em) => saveGroups(em, runId, groups, null));
    const { rows } = await world.admin.query(
      'select group_id, address from source_group_members where connector_id = $1',
      [space.connectorId],
    );
    expect(rows).toEqual([{ group_id: 'h', address: 'b@b.example' }]);
  });

  it('does not end the reading of a feed', async () => {
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'application/feed+json');
      const items = [
        { id: 'a\ud800', title: 'Odd', content_text: 'Odd.' },
        { id: 'b', title: 'Fine', content_text: 'Fine text.' },
      ];
      response.end(JSON.stringify({ version: 'https://jsonfeed.org/version/1.1', title: 'F', items }));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    try {
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const { space, whole } = await openSteps(world, rssProvider, {
        providerSlug: 'rss',
        scopeConfig: { feed_urls: [`${origin}/feed.json`] },
        allowedOrigins: [origin],
      });
      expect(await whole()).toMatchObject({ status: 'completed' });
      expect(Object.values(await space.contents()).join()).toContain('Fine text.');
    } finally {
      server.close();
    }
  });
});
