import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import { shareCollection } from '#domain/knowledge/collections/share-collection.ts';
import { measureWords } from './measure-words.ts';

/** The collection whose language has changed. */
export interface ChangedCollection {
  tenantId: string;
  collectionId: string;
}

/** Max documents and passages of one transaction. */
const [maxDocuments, maxPassages] = [100, 200];

/** Only collections with so many passages have statistics of words. */
const measuredFrom = 2_000;

/** The last passage that was looked at. */
interface Place {
  config: string;
  done: number;
  measured: number;
  document_id: string;
  position: number;
}

interface Range {
  id: string;
  created_at: string;
  /** Positions of passages. */
  first: number;
  last: number;
}

/**
 * Gives the next passages of a collection the words of its language, from the newest document to the oldest. A passage
 * changes in place: its address, text and vectors stay. Each is looked at once, since what is stored meanwhile has the
 * new language already: it shares a lock of the collection with this, and a change of the language excludes both. An
 * interrupted slice has had no effect.
 * @returns false when nothing is left to do, or another process does it
 */
export async function reindexSlice(em: EntityManager, changed: ChangedCollection): Promise<boolean> {
  if (!(await shareCollection(em, changed.collectionId))) {
    return false;
  }
  const place = await lockPlace(em, changed);
  if (place === null) {
    return false;
  }
  // The statistics know no word of the new language at first; each time their passages have doubled, they are estimated.
  const isDue = place.done >= Math.max(measuredFrom, 2 * place.measured);
  if (isDue && (await measureWords(em, { ...changed, waits: false }))) {
    await note(em, changed, 'chunks_measured = chunks_done');
    return true;
  }
  const ranges = await nextRanges(em, changed, place);
  const last = ranges.at(-1);
  if (last === undefined) {
    await measureWords(em, { ...changed, waits: true });
    await em.execute('delete from language_changes where tenant_id = ? and collection_id = ?', [
      changed.tenantId,
      changed.collectionId,
    ]);
    return true;
  }
  await index(em, changed.tenantId, ranges, place.config);
  const looked = ranges.reduce((sum, range) => sum + range.last - range.first + 1, 0);
  await note(
    em,
    changed,
    'chunks_done = chunks_done + ?, document_created_at = ?, document_id = ?, position = ?',
    [looked, last.created_at, last.id, last.last],
  );
  return true;
}

async function lockPlace(
  em: EntityManager,
  { tenantId, collectionId }: ChangedCollection,
): Promise<Place | null> {
  const [place] = await em.execute<Place[]>(
    `select c.text_search_config::text as config, g.chunks_done::float8 as done, g.chunks_measured::float8 as measured,
       g.document_id, g.position
     from language_changes g join collections c on c.tenant_id = g.tenant_id and c.id = g.collection_id
     where g.tenant_id = ? and g.collection_id = ? for update of g skip locked`,
    [tenantId, collectionId],
  );
  return place ?? null;
}

async function note(
  em: EntityManager,
  { tenantId, collectionId }: ChangedCollection,
  set: string,
  params: unknown[] = [],
): Promise<void> {
  await em.execute(`update language_changes set ${set} where tenant_id = ? and collection_id = ?`, [
    ...params,
    tenantId,
    collectionId,
  ]);
}

/**
 * The next documents, or parts of them, in the order of an index; a large one takes several slices.
 */
async function nextRanges(
  em: EntityManager,
  { tenantId, collectionId }: ChangedCollection,
  place: Place,
): Promise<Range[]> {
  const documents = await em.execute<{ id: string; created_at: string; chunks: number }[]>(
    `select d.id, d.created_at::text, d.chunk_count as chunks from documents d
     where d.tenant_id = ${averageUuid} and d.collection_id = ${averageUuid} and d.chunk_count > 0 and (d.created_at, d.id) <= (
       select g.document_created_at, g.document_id from language_changes g where g.tenant_id = ? and g.collection_id = ?)
     order by d.created_at desc, d.id desc limit ${maxDocuments + 1}`,
    [tenantId, collectionId, tenantId, collectionId],
  );
  const ranges: Range[] = [];
  let left = maxPassages;
  for (const { id, created_at, chunks } of documents) {
    const first = id === place.document_id ? place.position + 1 : 0;
    const count = Math.min(chunks - first, left);
    if (count > 0) {
      ranges.push({ id, created_at, first, last: first + count - 1 });
      left -= count;
    }
  }
  return ranges;
}

/**
 * The documents are locked in the order of their ids against readings and deletions, which lock them so. The limit keeps
 * one look-up by primary key for each: a join is planned by statistics, which do not know rows that are new.
 */
async function index(
  em: EntityManager,
  tenantId: string,
  ranges: readonly Range[],
  config: string,
): Promise<void> {
  const locked = await em.execute<{ id: string; generation: number }[]>(
    `select id, generation from documents where tenant_id = ${averageUuid} and id = any(?::uuid[])
     order by id for key share`,
    [tenantId, `{${ranges.map(({ id }) => id).join(',')}}`],
  );
  const generations = new Map(locked.map(({ id, generation }) => [id, generation]));
  const found = ranges.flatMap((range) => {
    const generation = generations.get(range.id);
    return generation === undefined ? [] : [{ ...range, generation }];
  });
  await em.execute(
    `update chunks set config = ?::regconfig where ctid = any (array(
       select p.ctid
       from jsonb_to_recordset(?::jsonb) as r(id uuid, generation integer, first integer, last integer)
       cross join lateral (
         select c.ctid from chunks c
         where c.tenant_id = ${averageUuid} and c.document_id = r.id and c.generation = r.generation
           and c.position between r.first and r.last and c.config <> ?::regconfig
         limit ${maxPassages}) p))`,
    [config, JSON.stringify(found), tenantId, config],
  );
}
