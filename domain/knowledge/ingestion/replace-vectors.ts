import type { EntityManager } from '@mikro-orm/postgresql';
import { averageUuid } from '#domain/foundation/persistence/average-uuid.ts';
import { withoutNestedLoops } from '#domain/foundation/persistence/without-nested-loops.ts';
import { embeddedText } from './embedded-text.ts';

/**
 * Documents have new passages, and are locked by the caller: passages whose text an earlier reading of the document had
 * take over its vectors, so that only what has changed is embedded. Then the vectors of earlier readings are deleted, as
 * searches do not compare generations.
 */
export async function replaceVectors(
  em: EntityManager,
  tenantId: string,
  documentIds: readonly string[],
): Promise<void> {
  const given = `{${documentIds.join(',')}}`;
  await withoutNestedLoops(em, () => takeOver(em, tenantId, given));
  await em.execute(
    `delete from chunk_vectors v using documents d
     where d.tenant_id = ${averageUuid} and d.id = any(?::uuid[])
       and v.tenant_id = d.tenant_id and v.document_id = d.id and v.generation < d.generation`,
    [tenantId, given],
  );
}

/** The hashes are those of `passagesToEmbed`. */
async function takeOver(em: EntityManager, tenantId: string, given: string): Promise<void> {
  await em.execute(
    `with known as materialized (
       select distinct on (v.embedding_id, v.document_id, e.text_hash)
         v.embedding_id, v.document_id, e.text_hash, e.vector, v.bits, v.list, g.state
       from chunk_vectors v
       join chunk_embeddings e on e.tenant_id = v.tenant_id and e.embedding_id = v.embedding_id
         and e.document_id = v.document_id and e.generation = v.generation and e.position = v.position
       join embedding_generations g on g.tenant_id = v.tenant_id and g.id = v.embedding_id
         and g.state in ('active', 'building')
       where v.tenant_id = ${averageUuid} and v.document_id = any(?::uuid[]) and e.document_id = any(?::uuid[])),
     fresh as materialized (
       select c.document_id, c.generation, c.position, c.collection_id,
         sha256(convert_to(${embeddedText('c')}, 'UTF8')) as text_hash
       from chunks c
       join documents d on d.tenant_id = c.tenant_id and d.id = c.document_id and d.generation = c.generation
       where c.tenant_id = ${averageUuid} and c.document_id = any(?::uuid[]) and d.id = any(?::uuid[])),
     taken as materialized (
       select f.*, k.embedding_id, k.vector, k.bits, k.list, k.state
       from fresh f join known k using (document_id, text_hash)),
     stored as (
       insert into chunk_embeddings (tenant_id, embedding_id, document_id, generation, position, text_hash, vector)
       select ?, embedding_id, document_id, generation, position, text_hash, vector from taken),
     scanned as (
       insert into chunk_vectors (tenant_id, embedding_id, collection_id, document_id, generation, position, bits, list)
       select ?, embedding_id, collection_id, document_id, generation, position, bits, list from taken)
     update documents d set embedded_count = n.embedded
     from (select document_id, count(*)::int4 as embedded from taken where state = 'active' group by document_id) n
     where d.tenant_id = ${averageUuid} and d.id = n.document_id and d.id = any(?::uuid[])`,
    [tenantId, given, given, tenantId, given, given, tenantId, tenantId, tenantId, given],
  );
}
