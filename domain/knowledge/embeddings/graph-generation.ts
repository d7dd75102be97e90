import type { EntityManager } from '@mikro-orm/postgresql';
import { hasSqlState } from '#domain/foundation/persistence/sql-state.ts';
import { withStatementTimeout } from '#domain/foundation/persistence/statement-timeout.ts';
import { listedFrom, type GenerationWork } from './partition-generation.ts';
import { lockGeneration } from './start-generation.ts';

/** Vectors per transaction: each is compared with hundreds of others. */
const batchSize = 200;
/** A batch may pass a million vectors that are in the graph already. */
const batchTimeoutMs = 30_000;

const cancelledForTime = ['57014'];
/** SQL states: no lock in time, cancelled for its time, a deadlock, no permission in the schema, no disk, no memory. */
const notNow = ['55P03', ...cancelledForTime, '40P01', '42501', '53100', '53200'];

/**
 * Puts the vectors of a large active generation into a graph, where the database has the extension for it: begins an
 * empty one, which new vectors join as they are stored, then lets those join that were there before. Searches use the
 * graph when all are in it. All of it may be repeated; a graph that is gone, as after a restore, is begun again under the
 * next number, so that no row has it. Where the database cannot do it now, it is left to a later round: other work of the
 * space does not wait for a graph.
 * @returns whether nothing is left to do for now
 */
export async function graphGeneration(work: GenerationWork): Promise<boolean> {
  const { tenantId, id: embeddingId } = work.target.generation;
  const key = { tenantId, embeddingId };
  const { inTransaction } = work;
  try {
    const graph = await inTransaction((em) => begin(em, { ...key, dims: work.target.model.dims }));
    return graph === null || (await joinAll(work, { ...key, graph }));
  } catch (error) {
    // An activity that is cancelled ends, whatever its last statement said.
    work.signal.throwIfAborted();
    if (!hasSqlState(error, notNow)) {
      throw error;
    }
    await inTransaction((em) => putOff(em, key, error instanceof SlowTable ? '1 day' : '10 minutes'));
    return true;
  }
}

async function joinAll(
  { inTransaction, signal, isOver }: GenerationWork,
  { graph, ...key }: Key & { graph: number },
): Promise<boolean> {
  let hasPassed = false;
  for (let after: string | null = null; ;) {
    signal.throwIfAborted();
    const joined = await inTransaction((em) => join(em, { ...key, graph, after }));
    hasPassed ||= joined.passed > 0;
    if (joined.last === null) {
      // Rows that another transaction had locked are left to the next round of the sweep.
      if (!hasPassed) {
        await inTransaction((em) => noteGraphed(em, key, graph));
      }
      return true;
    }
    after = joined.last;
    if (isOver()) {
      return false;
    }
  }
}

/** The table takes too long to read: it will in ten minutes, too, and nobody can write vectors meanwhile. */
class SlowTable extends Error {}

interface Key {
  tenantId: string;
  embeddingId: string;
}

/** @returns the number of the graph that vectors are to join; null: none is due */
async function begin(em: EntityManager, key: Key & { dims: number }): Promise<number | null> {
  if ((await due(em, key)) === null) {
    return null;
  }
  // Another worker may have begun it: that is seen by a statement behind the lock. Who activates locks in this order, too.
  await lockGeneration(em, key.embeddingId);
  const found = await due(em, key);
  if (found === null || found.is_there) {
    return found && found.graph;
  }
  const graph = found.graph + 1;
  await em
    .execute('select app.add_vector_graph(?, ?, ?)', [key.embeddingId, graph, key.dims])
    .catch((error: unknown) => {
      throw hasSqlState(error, cancelledForTime) ? new SlowTable('', { cause: error }) : error;
    });
  await em.execute(
    'update embedding_generations set graph = ?, graphed_at = null where tenant_id = ? and id = ?',
    [graph, key.tenantId, key.embeddingId],
  );
  return graph;
}

async function due(em: EntityManager, { tenantId, embeddingId }: Key) {
  const [row] = await em.execute<{ graph: number; is_there: boolean }[]>(
    `select g.graph, app.has_vector_graph(g.id, g.graph) as is_there from embedding_generations g
     where g.tenant_id = ? and g.id = ? and g.state = 'active' and g.partitioned_at is not null
       and app.vector_extension_schema() is not null and (g.graph_retry_at is null or g.graph_retry_at < now())
       and (g.graphed_at is null or not app.has_vector_graph(g.id, g.graph))
       and ${listedFrom} <= (
         select sum(c.chunk_count) from collections c where c.tenant_id = g.tenant_id and c.space_id = g.space_id)`,
    [tenantId, embeddingId],
  );
  return row ?? null;
}

async function putOff(em: EntityManager, { tenantId, embeddingId }: Key, pause: string): Promise<void> {
  await em.execute(
    'update embedding_generations set graph_retry_at = now() + ?::interval where tenant_id = ? and id = ?',
    [pause, tenantId, embeddingId],
  );
}

/**
 * None joins a graph that another has replaced. Rows that a deletion has locked are passed over: waiting for it, while it
 * waits for another of them, would be a deadlock.
 */
async function join(
  em: EntityManager,
  { tenantId, embeddingId, graph, after }: Key & { graph: number; after: string | null },
): Promise<{ last: string | null; passed: number }> {
  const behind =
    after === null
      ? 'true'
      : '(v.collection_id, v.document_id, v.generation, v.position) > (?::uuid, ?::uuid, ?::integer, ?::integer)';
  const place = 'jsonb_build_array(v.collection_id, v.document_id, v.generation, v.position)';
  const [row] = await withStatementTimeout(em, batchTimeoutMs, () =>
    em.execute<{ last: string | null; passed: number }[]>(
      `with given as materialized (
         select v.collection_id, v.document_id, v.generation, v.position, ${place} as place from chunk_vectors v
         where v.tenant_id = ? and v.embedding_id = ? and v.graph <> ? and ${behind}
           and exists (select from embedding_generations where tenant_id = ? and id = ? and graph = ?)
         order by v.collection_id, v.document_id, v.generation, v.position limit ${batchSize}),
       free as materialized (
         select g.* from given g
         join chunk_vectors v on v.tenant_id = ? and v.embedding_id = ? and v.collection_id = g.collection_id
           and v.document_id = g.document_id and v.generation = g.generation and v.position = g.position
         for no key update of v skip locked),
       joined as (
         update chunk_vectors v set graph = ? from free f
         where v.tenant_id = ? and v.embedding_id = ? and v.collection_id = f.collection_id
           and v.document_id = f.document_id and v.generation = f.generation and v.position = f.position returning 1)
       select (select place::text from given g order by g.collection_id desc, g.document_id desc, g.generation desc, g.position desc limit 1) as last,
         (select count(*) from given)::int4 - (select count(*) from joined)::int4 as passed`,
      [
        tenantId,
        embeddingId,
        graph,
        ...(after === null ? [] : (JSON.parse(after) as unknown[])),
        tenantId,
        embeddingId,
        graph,
        tenantId,
        embeddingId,
        graph,
        tenantId,
        embeddingId,
      ],
    ),
  );
  return row ?? { last: null, passed: 0 };
}

async function noteGraphed(em: EntityManager, { tenantId, embeddingId }: Key, graph: number): Promise<void> {
  await em.execute(
    'update embedding_generations set graphed_at = now() where tenant_id = ? and id = ? and graph = ? and graphed_at is null',
    [tenantId, embeddingId, graph],
  );
}
