import { createKnowledgeActivities } from '#activities/knowledge/create-knowledge-activities.ts';
import { createCollection } from '#domain/knowledge/collections/create-collection.ts';
import { uploadDocument } from '#domain/knowledge/collections/upload-document.ts';
import {
  cancelSpaceEmbedding,
  changeSpaceEmbedding,
} from '#domain/knowledge/embeddings/change-space-embedding.ts';
import type { EmbeddingGeneration } from '#domain/knowledge/embeddings/embedding-generation.entity.ts';
import { readSpaceEmbedding } from '#domain/knowledge/embeddings/read-space-embedding.ts';
import { registerEmbeddingModel } from '#domain/knowledge/embeddings/register-embedding-model.ts';
import { searchKnowledge } from '#domain/knowledge/search/search-knowledge.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { MockActivityEnvironment } from '@temporalio/testing';
import { ingest } from './ingest.ts';
import type { KnowledgeWorld, SpaceFixture } from './knowledge-world.ts';
import type { WordEmbedders } from './word-embedders.ts';
import { extractor } from './extractor.ts';

/** A space with a collection, whose documents are embedded and whose model can be changed. */
export class EmbeddingSpace {
  readonly world: KnowledgeWorld;
  readonly fixture: SpaceFixture;
  readonly embedders: WordEmbedders;
  readonly collectionId: string;

  private constructor(parts: Pick<EmbeddingSpace, 'world' | 'fixture' | 'embedders' | 'collectionId'>) {
    this.world = parts.world;
    this.fixture = parts.fixture;
    this.embedders = parts.embedders;
    this.collectionId = parts.collectionId;
  }

  static async create(
    world: KnowledgeWorld,
    embedders: WordEmbedders,
    tenantId?: string,
  ): Promise<EmbeddingSpace> {
    const fixture = await world.addSpace(tenantId);
    const { collection } = await world.act(fixture, (ctx) => createCollection(ctx, { name: 'C' }));
    return new EmbeddingSpace({ world, fixture, embedders, collectionId: collection.id });
  }

  /** Stores a document without its workflow. */
  async upload(content: string): Promise<string> {
    const { collectionId } = this;
    const { document } = await this.world.act(this.fixture, (ctx) =>
      uploadDocument(ctx, { collectionId, filename: 'a.md', mediaType: 'text/markdown', content }),
    );
    return document.id;
  }

  async add(content: string): Promise<string> {
    const documentId = await this.upload(content);
    await this.process(documentId);
    return documentId;
  }

  /** The steps of a document's workflow. */
  async process(documentId: string): Promise<void> {
    const { tenantId } = this.fixture;
    await ingest({ unitOfWork: this.world.unitOfWork, embedders: this.embedders }, { tenantId, documentId });
  }

  /** A model of the tenant, of other dimensions than the builtin one. */
  async model(dims = 48): Promise<string> {
    const providerModel = `words-${newId()}`;
    const { model } = await this.world.act(this.fixture, (ctx) =>
      registerEmbeddingModel(ctx, {
        alias: providerModel,
        providerKind: 'openai_compatible',
        providerModel,
        baseUrl: 'https://words.example.com/v1',
        dims,
      }),
    );
    return model.id;
  }

  change(modelId: string) {
    return this.world.act(this.fixture, (ctx) => changeSpaceEmbedding(ctx, { modelId }));
  }

  cancel() {
    return this.world.act(this.fixture, cancelSpaceEmbedding);
  }

  read() {
    return this.world.act(this.fixture, readSpaceEmbedding);
  }

  /** One slice of the space's workflow. */
  embed(): Promise<{ state: string }> {
    const { unitOfWork } = this.world;
    const { embedSpace } = createKnowledgeActivities({
      unitOfWork,
      extractor,
      embedders: this.embedders,
    });
    const { tenantId, spaceId } = this.fixture;
    return new MockActivityEnvironment().run(embedSpace, { tenantId, spaceId }) as Promise<{ state: string }>;
  }

  /** All of its workflow. */
  async embedAll(): Promise<void> {
    while ((await this.embed()).state === 'more');
  }

  search(query: string, alpha = 1) {
    return searchKnowledge(this.world.access(this.fixture, this.embedders), {
      spaceId: this.fixture.spaceId,
      collectionIds: null,
      query,
      limit: 5,
      alpha,
    });
  }

  /** Its generations, oldest first, with the numbers of their vectors in both tables. */
  async generations(): Promise<
    { id: string; state: EmbeddingGeneration['state']; embeddings: number; vectors: number }[]
  > {
    const { rows } = await this.world.admin.query(
      `select id, state,
         (select count(*)::int from chunk_embeddings e where e.embedding_id = g.id) as embeddings,
         (select count(*)::int from chunk_vectors v where v.embedding_id = g.id) as vectors
       from embedding_generations g where space_id = $1 order by created_at`,
      [this.fixture.spaceId],
    );
    return rows;
  }

  /** Documents that count as embedded, though the active generation lacks vectors of them. */
  async falselyEmbedded(): Promise<string[]> {
    const { rows } = await this.world.admin.query<{ id: string }>(
      `select d.id from documents d join collections c on c.id = d.collection_id
       join embedding_generations g on g.space_id = c.space_id and g.state = 'active'
       where c.space_id = $1 and not d.embedding_pending and d.chunk_count > (
         select count(*) from chunk_embeddings e join chunk_vectors v using (embedding_id, document_id, generation, position)
         where e.embedding_id = g.id and e.document_id = d.id and e.generation = d.generation)`,
      [this.fixture.spaceId],
    );
    return rows.map(({ id }) => id);
  }
}
