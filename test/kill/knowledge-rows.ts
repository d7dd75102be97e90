import { setTimeout as sleep } from 'node:timers/promises';
import type { Deployment } from './deployment.ts';
import type { KnowledgeSpace } from './knowledge-client.ts';

export interface DocumentRow {
  id: string;
  filename: string;
  status: string;
  chunk_count: number;
  embedded_count: number;
  embedding_pending: boolean;
  /** Vectors of the generation that is built, or else of the active one. */
  vectors: number;
}

export interface GenerationRow {
  id: string;
  model_id: string;
  state: string;
}

type Query = Deployment['query'];

export function documentRows(query: Query, { collectionId }: KnowledgeSpace): Promise<DocumentRow[]> {
  return query<DocumentRow>(
    `select d.id, d.filename, d.status, d.chunk_count, d.embedded_count, d.embedding_pending,
       (select count(*)::int from chunk_embeddings e where e.document_id = d.id and e.generation = d.generation
          and e.embedding_id = (select g.id from embedding_generations g
            join collections c on c.space_id = g.space_id and c.id = d.collection_id
            where g.state in ('active', 'building') order by g.state desc limit 1)) as vectors
     from documents d where d.collection_id = $1 order by d.id`,
    [collectionId],
  );
}

export async function generations(query: Query, { spaceId }: KnowledgeSpace): Promise<GenerationRow[]> {
  return query(
    'select id, model_id, state from embedding_generations where space_id = $1 order by created_at',
    [spaceId],
  );
}

/** Waits until `read` returns a value other than null; a database that is away is asked again. */
export async function until<T>(
  what: string,
  limitMs: number,
  read: () => Promise<T | null>,
  pauseMs = 50,
): Promise<T> {
  const end = performance.now() + limitMs;
  for (let last = ''; ;) {
    try {
      const value = await read();
      if (value !== null) return value;
    } catch (error) {
      last = `: ${(error as Error).message}`;
    }
    if (performance.now() > end) throw new Error(`${what} within ${limitMs} ms${last}.`);
    await sleep(pauseMs);
  }
}

export const isEmbedded = (row: DocumentRow): boolean =>
  row.status === 'ready' && !row.embedding_pending && row.embedded_count === row.chunk_count;
export const isInMidEmbedding = (row: DocumentRow): boolean =>
  row.vectors > 0 && row.vectors < row.chunk_count;
/** Its passages are stored and its reading is not finished; no batch of it is. */
export const isStored = (row: DocumentRow): boolean =>
  row.status === 'processing' &&
  row.chunk_count > 0 &&
  (row.vectors === 0 || row.vectors === row.chunk_count);
