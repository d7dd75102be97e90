import { isDeepStrictEqual } from 'node:util';
import type { Deployment } from './deployment.ts';
import type { KnowledgeClient, KnowledgeSpace } from './knowledge-client.ts';
import type { SourceDocument } from './knowledge-documents.ts';

export interface Comparison {
  passages: number;
  /** Passages that have a vector on both sides. */
  vectors: number;
  differences: string[];
}

/** Everything of a passage and its vectors, by its document's name and its position. */
async function passages(query: Deployment['query'], { spaceId, collectionId }: KnowledgeSpace) {
  const rows = await query<{ place: string; vector: string | null; bits: string | null }>(
    `select d.filename || ' ' || c.position as place, c.heading, c.text, c.start_offset, c.end_offset, c.page, c.anchor,
       encode(e.text_hash, 'hex') as text_hash, encode(e.vector, 'hex') as vector, v.bits::text as bits
     from documents d
     join embedding_generations g on g.tenant_id = d.tenant_id and g.space_id = $2 and g.state = 'active'
     join chunks c on c.tenant_id = d.tenant_id and c.document_id = d.id and c.generation = d.generation
     left join chunk_embeddings e on e.tenant_id = c.tenant_id and e.embedding_id = g.id
       and e.document_id = c.document_id and e.generation = c.generation and e.position = c.position
     left join chunk_vectors v on v.tenant_id = c.tenant_id and v.embedding_id = g.id
       and v.document_id = c.document_id and v.generation = c.generation and v.position = c.position
     where d.collection_id = $1`,
    [collectionId, spaceId],
  );
  return new Map(rows.map((row) => [row.place, row]));
}

/** Compares the passages and vectors of two spaces with the same documents, byte by byte. */
export async function compareSpaces(
  query: Deployment['query'],
  { disturbed, undisturbed }: { disturbed: KnowledgeSpace; undisturbed: KnowledgeSpace },
): Promise<Comparison> {
  const [actual, expected] = await Promise.all([passages(query, disturbed), passages(query, undisturbed)]);
  const places = new Set([...actual.keys(), ...expected.keys()]);
  const hasVector = (place: string) =>
    [actual, expected].every((rows) => rows.get(place)?.vector != null && rows.get(place)?.bits != null);
  const differences = [...places].filter(
    (place) => !hasVector(place) || !isDeepStrictEqual(actual.get(place), expected.get(place)),
  );
  return { passages: places.size, vectors: [...places].filter(hasVector).length, differences };
}

/** Vectors that searches would scan although their passages were replaced, and documents that exist twice. */
export async function strays(query: Deployment['query'], space: KnowledgeSpace): Promise<string[]> {
  const rows = await query<{ stray: string }>(
    `select 'vector of a replaced passage of ' || d.filename as stray
     from chunk_vectors v join documents d on d.tenant_id = v.tenant_id and d.id = v.document_id
     where d.collection_id = $1 and v.generation <> d.generation
     union all select filename || ' exists ' || count(*) || ' times' from documents
     where collection_id = $1 group by filename having count(*) > 1
     union all select 'generation ' || state from embedding_generations
     where space_id = $2 and state not in ('active', 'retired')`,
    [space.collectionId, space.spaceId],
  );
  return rows.map(({ stray }) => stray);
}

/** Searches by meaning alone, whose results in both spaces must be equal. */
export async function compareSearches(
  client: KnowledgeClient,
  { disturbed, undisturbed }: { disturbed: KnowledgeSpace; undisturbed: KnowledgeSpace },
  documents: readonly SourceDocument[],
): Promise<string[]> {
  const differences: string[] = [];
  for (const { word, content } of documents) {
    const question = content.slice(200, 500);
    const [actual, expected] = await Promise.all(
      [disturbed, undisturbed].map((space) => client.search(space, question, 1)),
    );
    const scores = (found: typeof actual) =>
      found?.data?.results.map(({ score, vector_score: vector }) => [score, vector]);
    const both = [scores(actual), scores(expected)];
    if (expected?.data?.mode === 'keyword' || !isDeepStrictEqual(both[0], both[1]))
      differences.push(`${word}: ${actual?.data?.mode}, ${JSON.stringify(both)}`);
  }
  return differences;
}
