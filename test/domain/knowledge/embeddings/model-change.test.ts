import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { EmbeddingFailure } from '#domain/knowledge/embeddings/embedder.ts';
import { purgeEmbeddings } from '#domain/operations/maintenance/purge-embeddings.ts';
import { reconcileEmbeddings } from '#domain/operations/maintenance/reconcile-embeddings.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { EmbeddingSpace } from '#test/support/embedding-space.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { Purge } from '#test/support/purge.ts';
import { roundOf, sweepOnce } from '#test/support/sweeps.ts';
import { wordEmbedders } from '#test/support/word-embedders.ts';

let world: KnowledgeWorld;
const embedders = wordEmbedders();

beforeAll(async () => {
  world = await openWorld();
});
afterEach(() => {
  embedders.before = () => {};
});
afterAll(() => world.stop());

const open = (tenantId?: string) => EmbeddingSpace.create(world, embedders, tenantId);
const builtin = 'bge-small-en-v1.5';

/** Words that no full-text search keeps, so that only vectors find them. */
const texts = ['the of and to in', 'you were not there when', 'this is about what they have'];
async function filled(): Promise<EmbeddingSpace> {
  const space = await open();
  for (const text of texts) {
    await space.add(text);
  }
  return space;
}

describe('a change of the embedding model', () => {
  it('lets each search find something meanwhile, by vectors of one generation, and switches in one step', async () => {
    const space = await filled();
    const before = (await space.read()).active!.generation.id;
    await space.change(await space.model());
    const seen: string[] = [];
    const look = async () => {
      const found = await space.search(texts[1]!);
      expect(found).toMatchObject({ mode: 'hybrid', passages: [{ text: texts[1] }, {}, {}] });
      seen.push(found.generation!);
    };
    embedders.before = async (model) => {
      // On a busy machine the change could be over before the first searches.
      if (model !== builtin) {
        await expect.poll(() => seen.length, { interval: 5 }).toBeGreaterThanOrEqual(2);
      }
    };
    const built = space.embedAll().then(() => true);
    do {
      await look();
    } while (!(await Promise.race([built, Promise.resolve(false)])));
    await look();
    const after = (await space.read()).active!.generation.id;
    expect(after).not.toBe(before);
    expect(seen.length).toBeGreaterThan(2);
    expect(seen).toEqual(seen.toSorted((a, b) => Number(a === after) - Number(b === after)));
    expect(new Set(seen)).toEqual(new Set([before, after]));
    expect(await space.generations()).toEqual([
      { id: before, state: 'retired', embeddings: 3, vectors: 3 },
      { id: after, state: 'active', embeddings: 3, vectors: 3 },
    ]);
  });

  it('leaves documents that are stored meanwhile embedded, or pending until the next slice', async () => {
    const space = await filled();
    await space.change(await space.model());
    const late: Promise<string>[] = [];
    embedders.before = async (model) => {
      if (model !== builtin && late.length === 0) {
        // Beginning with the calibration, before any document of the space is embedded.
        late.push(space.add('a late one'));
        await late[0];
      }
    };
    await space.embed();
    expect(await space.falselyEmbedded()).toEqual([]);
    expect(late).toHaveLength(1);
    expect(await space.generations()).toMatchObject([{}, { state: 'active' }]);
    await space.embedAll();
    expect((await space.read()).pendingDocuments).toBe(0);
    expect((await space.search('a late one')).passages[0]?.text).toBe('a late one');
  });

  it('embeds a document that was behind its progress after the switch', async () => {
    const space = await open();
    const early = await space.upload('an early one');
    await space.add(texts[0]!);
    await space.change(await space.model());
    await world.admin.query(
      `update embedding_generations set done_through = $1 where space_id = $2 and state = 'building'`,
      [early, space.fixture.spaceId],
    );
    await space.process(early);
    expect(await space.embed()).toEqual({ state: 'more' });
    expect(await space.falselyEmbedded()).toEqual([]);
    expect((await space.read()).pendingDocuments).toBe(1);
    expect(await space.embed()).toEqual({ state: 'idle' });
    expect((await space.read()).pendingDocuments).toBe(0);
    expect(await space.generations()).toMatchObject([{}, { state: 'active', embeddings: 2, vectors: 2 }]);
  });

  it('that is cancelled leaves the model before it active, with its vectors', async () => {
    const space = await filled();
    const rows = async () => {
      const { rows } = await world.admin.query(
        `select e.* from chunk_embeddings e join embedding_generations g on g.id = e.embedding_id
         where g.space_id = $1 and g.state = 'active' order by e.document_id, e.position`,
        [space.fixture.spaceId],
      );
      return rows;
    };
    const before = await rows();
    const modelId = await space.model();
    await space.change(modelId);
    let calls = 0;
    embedders.before = async (model) => {
      calls += Number(model !== builtin);
      if (calls === 3) {
        await space.cancel();
      }
    };
    await space.embedAll();
    expect(await rows()).toEqual(before);
    expect(await space.generations()).toMatchObject([{ state: 'active' }, { state: 'cancelled' }]);
    expect(await space.search(texts[0]!)).toMatchObject({
      mode: 'hybrid',
      passages: [{ text: texts[0] }, {}, {}],
    });
    expect(await space.read()).toMatchObject({ building: null, pendingDocuments: 0 });
    embedders.before = () => {};
    await space.change(modelId);
    await space.embedAll();
    expect((await space.generations()).map(({ state }) => state)).toEqual(['retired', 'cancelled', 'active']);
  });

  it('goes on after a failure where it was, and embeds no passage twice', async () => {
    const space = await filled();
    await space.change(await space.model());
    const alias = (await space.read()).building!.model.providerModel;
    let calls = 0;
    embedders.before = (model) => {
      calls += Number(model === alias);
      if (calls === 3) {
        throw new EmbeddingFailure('rate_limited', 1_000);
      }
    };
    await expect(space.embed()).rejects.toMatchObject({ type: 'rate_limited', nonRetryable: false });
    expect((await space.read()).building?.generation).toMatchObject({
      lastError: 'rate_limited',
      documentsDone: 1,
    });
    await space.embedAll();
    const own = embedders.passages.filter(({ model, text }) => model === alias && texts.includes(text));
    expect(own.map(({ text }) => text).toSorted()).toEqual(texts.toSorted());
    expect((await space.read()).active).toMatchObject({ model: { alias }, generation: { lastError: null } });
  });

  it('replaces a model that no longer answers, while documents wait for it', async () => {
    const space = await filled();
    embedders.before = (model) => {
      if (model === builtin) {
        throw new EmbeddingFailure('refused');
      }
    };
    await space.add('a late one');
    expect((await space.read()).pendingDocuments).toBe(1);
    await space.change(await space.model());
    await space.embedAll();
    expect(await space.read()).toMatchObject({ building: null, pendingDocuments: 0 });
    expect((await space.search('a late one')).passages[0]?.text).toBe('a late one');
  });

  it('begins once when it is asked for twice at once, and not for two models', async () => {
    const space = await filled();
    const [one, two] = [await space.model(), await space.model()];
    const same = await Promise.all([1, 2, 3, 4].map(() => space.change(one)));
    expect(new Set(same.map(({ building }) => building?.generation.id)).size).toBe(1);
    await space.cancel();
    const ends = await Promise.allSettled([space.change(one), space.change(two)]);
    expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(ends).toContainEqual(
      expect.objectContaining({ reason: expect.objectContaining({ code: 'invalid_state' }) }),
    );
    expect((await space.generations()).map(({ state }) => state)).toEqual([
      'active',
      'cancelled',
      'building',
    ]);
  });
});

describe('the sweeps', () => {
  it('delete vectors and rows of retired and cancelled generations, a minute later, and no others', async () => {
    const space = await filled();
    await space.change(await space.model());
    await space.embedAll();
    await space.change(await space.model());
    let calls = 0;
    embedders.before = async () => {
      calls += 1;
      if (calls === 3) {
        await space.cancel();
      }
    };
    await space.embedAll();
    embedders.before = () => {};
    await space.change(await space.model());
    embedders.before = () => {
      calls += 1;
      if (calls > 8) {
        throw new EmbeddingFailure('unavailable');
      }
    };
    calls = 6;
    await expect(space.embed()).rejects.toThrow('unavailable');
    embedders.before = () => {};
    const [retired, active, cancelled, building] = await space.generations();
    expect([retired, active, cancelled, building]).toMatchObject([
      { state: 'retired', embeddings: 3 },
      { state: 'active', embeddings: 3 },
      { state: 'cancelled', embeddings: expect.any(Number) },
      { state: 'building', embeddings: 1 },
    ]);
    expect(cancelled!.embeddings).toBeGreaterThan(0);
    const purge = new Purge(world.database);
    const deps = { database: new Database({ url: world.url, statementTimeoutMs: 5_000 }), purge };
    await sweepOnce(purgeEmbeddings, deps);
    expect(await space.generations()).toHaveLength(4);
    await world.admin.query(
      `update embedding_generations set ended_at = now() - interval '2 minutes' where ended_at is not null`,
    );
    await sweepOnce(purgeEmbeddings, deps);
    expect(await space.generations()).toEqual([active, building]);
    await purge.close();
    await deps.database.close();
  });

  it('leave the rest of many vectors for a later turn when the round has no time left', async () => {
    const space = await filled();
    await space.embedAll();
    await space.change(await space.model());
    await space.embedAll();
    const [retired] = await space.generations();
    const { rows } = await world.admin.query<{ tenant_id: string; id: string }>(
      `select tenant_id, id from embedding_generations where state = 'retired' and tenant_id = $1`,
      [space.fixture.tenantId],
    );
    const [generation] = rows;
    expect(retired).toMatchObject({ state: 'retired' });
    await world.admin.query(
      `insert into chunks (tenant_id, document_id, collection_id, generation, position, text, start_offset, end_offset, config)
       select c.tenant_id, c.document_id, c.collection_id, c.generation, 1000 + g, 'x', 0, 1, c.config
       from (select * from chunks where tenant_id = $1 limit 1) c, generate_series(1, 4500) g`,
      [space.fixture.tenantId],
    );
    await world.admin.query(
      `insert into chunk_embeddings (tenant_id, embedding_id, document_id, generation, position, text_hash, vector)
       select tenant_id, $2, document_id, generation, position, 'h', 'v' from chunks
       where tenant_id = $1 and position > 1000`,
      [space.fixture.tenantId, generation!.id],
    );
    await world.admin.query(
      `update embedding_generations set ended_at = now() - interval '2 minutes' where id = $1`,
      [generation!.id],
    );
    const purge = new Purge(world.database);
    const deps = { database: new Database({ url: world.url, statementTimeoutMs: 5_000 }), purge };
    const left = async () => {
      const found = await world.admin.query<{ n: number }>(
        'select count(*)::int as n from chunk_embeddings where embedding_id = $1',
        [generation!.id],
      );
      return found.rows[0]!.n;
    };
    const before = await left();
    const round = roundOf({ mayGoOn: () => false });
    await purgeEmbeddings.run(deps as never, round);
    expect(await left()).toBe(before - 2_000);
    await sweepOnce(purgeEmbeddings, deps);
    expect(await left()).toBe(0);
    expect(await space.generations()).toMatchObject([{ state: 'active' }]);
    await purge.close();
    await deps.database.close();
  });

  it('start the workflow of each space with pending documents or a change, and of no others', async () => {
    await world.admin.query('update documents set embedding_pending = false');
    await world.admin.query(
      `update embedding_generations set state = 'cancelled', ended_at = now() where state = 'building'`,
    );
    await filled();
    const pending = await filled();
    const changing = await filled();
    await changing.change(await changing.model());
    embedders.before = () => {
      throw new EmbeddingFailure('unavailable');
    };
    await pending.add('a late one');
    await world.admin.query('delete from outbox');
    const { unitOfWork, dispatches } = world;
    const database = new Database({ url: world.url, statementTimeoutMs: 5_000 });
    const { starts } = await sweepOnce(reconcileEmbeddings, { database, unitOfWork, dispatches });
    await database.close();
    expect(starts.map(({ workflowType, payload }) => ({ workflowType, payload }))).toEqual(
      [pending, changing]
        .map(({ fixture: { tenantId, spaceId } }) => ({
          workflowType: 'embedSpace',
          payload: { tenantId, spaceId },
        }))
        .toSorted((a, b) => (a.payload.tenantId < b.payload.tenantId ? -1 : 1)),
    );
  });
});
