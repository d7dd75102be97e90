import type { Defect } from './defect.ts';

const bytes = 'test/domain/foundation/bytes/postgres-byte-store.test.ts';
const meaning = 'test/domain/knowledge/search/meaning.test.ts';
const rowsRead = 'test/domain/knowledge/embeddings/rows-read.test.ts';
const ingestion = 'test/activities/ingest-document.test.ts';
const ofSpace = 'test/activities/embed-space.test.ts';
const nearest = 'domain/knowledge/search/nearest-passages.ts';
const keywords = 'domain/operations/schema/functions/keyword-search.sql';
const readers = 'test/domain/knowledge/search/readers.test.ts';
const ranked = 'test/domain/knowledge/search/rank-passages.test.ts';
const reranking = 'domain/knowledge/search/rank-passages.ts';
const matches = 'test/domain/knowledge/search/match-keywords.test.ts';
const languages = 'test/domain/knowledge/ingestion/reindex-slice.test.ts';

/** In stored content, in passages and their search. */
export const knowledgeDefects: readonly Defect[] = [
  {
    name: 'readers of the source ignored by the search for words',
    file: keywords,
    replace: [['in (select unnest($5))) %12$s\n', 'in (select unnest($5)))\n']],
    test: readers,
    caughtBy: 'with an alpha of 0 finds what may be read behind any number of better passages',
  },
  {
    name: 'readers of the source ignored by the search for meaning',
    file: nearest,
    replace: [['documentsReadable(query)', 'documentsReadable({ ...query, reading: null })']],
    test: readers,
    caughtBy: 'with an alpha of 1 finds what may be read behind any number of better passages',
  },
  {
    name: 'readers of the source ignored where passages are read',
    file: 'domain/knowledge/search/best-passages.ts',
    replace: [['await sourceReading(em, collections, principalId)', 'null']],
    test: readers,
    caughtBy: 'with an alpha of 0.75 shows nothing that may no longer be read',
  },
  {
    name: 'order of the reranking model ignored',
    file: reranking,
    replace: [['    .sort((a, b) => b.score - a.score);', ';']],
    test: ranked,
    caughtBy: 'is in the model’s order and has its scores',
  },
  {
    name: 'passages not read again after they were reranked',
    file: reranking,
    replace: [['const readable = await candidatesOf(em, found);', 'const readable = passages;']],
    test: ranked,
    caughtBy: 'is not shown any more where it may not be read',
  },
  {
    name: 'withdrawn reranking model still asked',
    file: 'domain/knowledge/search/reranking-target.ts',
    replace: [['model.disabledAt != null', 'false']],
    test: ranked,
    caughtBy: 'goes on in its own order when the model in use is withdrawn',
  },
  {
    name: 'scores of a reranking model for passages that it was not sent',
    file: 'adapters/reranking/unit-scores.ts',
    replace: [['results.length !== count || ', '']],
    test: 'test/adapters/reranking/vendor-reranker.test.ts',
    caughtBy: 'that answers wrongly (one_more) gives no score',
  },
  {
    name: 'tokens of a reranking model not limited',
    file: 'adapters/reranking/vendor-reranker.ts',
    replace: [
      ['Math.min(read.tokens ?? sumOf(estimateTokens), most)', 'read.tokens ?? sumOf(estimateTokens)'],
    ],
    test: 'test/adapters/reranking/vendor-reranker.test.ts',
    caughtBy: 'has no more tokens and searches than it was sent',
  },
  {
    name: 'old generation still searched',
    file: keywords,
    replace: [[' and d.generation = f.generation', '']],
    test: matches,
    caughtBy: 'ranks only passages of the present reading',
  },
  {
    name: 'byte store limit off',
    file: 'domain/foundation/bytes/parts.ts',
    replace: [['total > maxBytes', 'total > Infinity']],
    test: bytes,
    caughtBy: 'takes as many bytes as it may and not one more',
  },
  {
    name: 'bytes of an upload that was refused are left',
    file: 'domain/foundation/bytes/postgres-byte-store.ts',
    replace: [['      await this.delete(key).catch(() => {});\n', '']],
    test: bytes,
    caughtBy: 'leaves nothing of a stream that breaks',
  },
  {
    name: 'bytes purged that another document has',
    file: 'domain/operations/maintenance/purge-content.ts',
    replace: [['if (used.length === 0)', 'if (used.length >= 0)']],
    test: 'test/domain/operations/maintenance/purge-content.test.ts',
    caughtBy: 'leaves bytes that are uploaded again before it comes',
  },
  {
    name: 'bytes of an upload not limited',
    file: 'domain/knowledge/collections/upload-content.ts',
    replace: [
      ['maxBytes: Math.max(...Object.values(limits)) }', 'maxBytes: Infinity }'],
      ['received.byteSize > limits[mediaType]', 'received.byteSize > Infinity'],
    ],
    test: 'test/api/uploads.test.ts',
    caughtBy: 'is refused with 413',
  },
  {
    name: 'alpha ignored',
    file: 'domain/knowledge/search/fuse-hits.ts',
    replace: [['vector === null ? 0 : alpha', 'vector === null ? 0 : 0.75']],
    test: 'test/domain/knowledge/search/fuse-hits.test.ts',
    caughtBy: 'leaves only the passages of the keyword side at 0',
  },
  {
    name: 'vectors searched that are being built',
    file: 'domain/knowledge/embeddings/live-generations.ts',
    replace: [
      [
        `{ spaceId, state: 'active' });`,
        `{ spaceId, state: { $in: ['active', 'building'] } }, { orderBy: { createdAt: 'desc' } });`,
      ],
    ],
    test: ofSpace,
    caughtBy: 'is not seen by searches before its vectors are complete',
  },
  {
    name: 'filter of a keyword search behind its limit',
    file: keywords,
    replace: [
      [' and ($5 is null or f.document_id in (select unnest($5)))', ''],
      [
        'select p.document_id, p.generation, p.position,\n      tanh',
        'select * from (select p.document_id, p.generation, p.position,\n      tanh',
      ],
      ['limit $8', 'limit $8) b where ($5 is null or b.document_id in (select unnest($5)))'],
    ],
    test: meaning,
    caughtBy: 'behind any number of better ones',
  },
  {
    name: "tenant of a search's arguments",
    file: keywords,
    replace: [
      [
        `nullif(current_setting('app.tenant_id', true), '')::uuid;\n  words`,
        `(select c.tenant_id from public.collections c where c.id = any(p_collections) limit 1);\n  words`,
      ],
    ],
    test: matches,
    caughtBy: 'ranks no passage of another tenant',
  },
  {
    name: 'answers with embeddings of any length',
    file: 'adapters/embeddings/vendor-embedder.ts',
    replace: [['text.length > components', 'text.length > Infinity * components']],
    test: 'test/adapters/embeddings/vendor-embeddings.test.ts',
    caughtBy: 'is refused before it is parsed',
  },
  {
    name: 'answers with embeddings of any size',
    file: 'adapters/egress/answer-limits.ts',
    replace: [['embedding: {\n    maxBytes: 24 * MiB', 'embedding: {\n    maxBytes: 2_048 * MiB']],
    test: 'test/adapters/embeddings/vendor-embeddings.test.ts',
    caughtBy: 'without end is no longer read',
  },
  {
    name: 'vectors of earlier readings left',
    file: 'domain/knowledge/ingestion/replace-vectors.ts',
    replace: [['v.generation < d.generation`', 'v.generation < d.generation and false`']],
    test: ingestion,
    caughtBy: 'gives passages that were replaced meanwhile no vector',
  },
  {
    name: 'equal passages of another reading embedded again',
    file: 'domain/knowledge/ingestion/replace-vectors.ts',
    replace: [['  await withoutNestedLoops(em, () => takeOver(em, tenantId, given));\n', '']],
    test: 'test/domain/knowledge/ingestion/replace-vectors.test.ts',
    caughtBy: 'is found by those that stay',
  },
  {
    name: 'vectors for passages that were replaced',
    file: 'domain/knowledge/embeddings/vectors.ts',
    replace: [
      [
        'select d.id, d.generation from documents d where d.tenant_id = ? and d.id = ? and d.generation = ? for share',
        `select d.id, g.generation from (values (?::uuid, ?::uuid, ?::integer)) g(tenant_id, id, generation)
         join documents d on d.tenant_id = g.tenant_id and d.id = g.id for share of d`,
      ],
    ],
    test: ingestion,
    caughtBy: 'gives passages that were replaced meanwhile no vector',
  },
  {
    name: 'vectors of a space read for each passage',
    file: 'domain/foundation/persistence/without-index.ts',
    replace: [['`coalesce(${column} = ${value}, false)`', '`${column} = ${value}`']],
    test: rowsRead,
    caughtBy: 'a document is read, embedded and deleted by looking up its own',
  },
  {
    name: 'equal texts looked for from the beginning of a table',
    file: 'domain/knowledge/embeddings/vectors.ts',
    replace: [
      [
        'e.text_hash between a.text_hash and a.text_hash\n         order by e.text_hash limit 1',
        'e.text_hash = a.text_hash limit 1',
      ],
    ],
    test: rowsRead,
    caughtBy: 'a document is read, embedded and deleted by looking up its own',
  },
  {
    name: 'a change of model that counts no vectors',
    file: 'domain/knowledge/embeddings/activate-generation.ts',
    replace: [
      [
        'embedding_pending = n.embedded < d.chunk_count, embedded_count = n.embedded\n',
        'embedding_pending = false, embedded_count = d.chunk_count\n',
      ],
    ],
    test: ofSpace,
    caughtBy: 'leaves documents pending that lack its vectors',
  },
  {
    name: 'a failing model that keeps its place',
    file: 'activities/knowledge/embed-space.ts',
    replace: [['failure ??= error;', 'waitFor(error);']],
    test: ofSpace,
    caughtBy: 'goes on while the present model does not answer',
  },
  {
    name: 'known vectors taken over without a turn',
    file: 'domain/knowledge/embeddings/embed-document.ts',
    replace: [['    await work.onReused?.(reused.size);\n', '']],
    test: 'test/activities/embed-space.test.ts',
    caughtBy: 'a turn of their tenant for each hundred of them',
  },
  {
    name: 'a silent vendor of one tenant takes every slot',
    file: 'adapters/embeddings/vendor-shares.ts',
    replace: [['passage: { slots: 8, slotsPerKey: 3', 'passage: { slots: 20, slotsPerKey: 20']],
    test: 'test/adapters/embeddings/vendor-embeddings.test.ts',
    caughtBy: 'are few for each tenant',
  },
  {
    name: 'searches keep their places while a vendor is silent',
    file: 'api/limits/search-place.ts',
    replace: [['    this.#giveUp();\n', '']],
    test: 'test/api/slow-vendors.test.ts',
    caughtBy: 'searches of others answer at once',
  },
  {
    name: 'the first words of a question and not its rarest',
    file: 'domain/knowledge/search/match-keywords.ts',
    replace: [
      [
        'lateral unnest(to_tsvector(l.config, ?)) q),',
        'lateral unnest(to_tsvector(l.config, ?)) q limit 32),',
      ],
    ],
    test: matches,
    caughtBy: 'looks for the rarest words of a long question',
  },
  {
    name: 'former languages of passages not asked',
    file: 'domain/knowledge/search/match-keywords.ts',
    replace: [["coalesce(g.former, '{}') || c.text_search_config", 'array[c.text_search_config]']],
    test: languages,
    caughtBy: 'reaches every passage of more than 500 documents, each of which is found all along',
  },
  {
    name: 'passages found by the words of another language',
    file: keywords,
    replace: [["'c.config = $11'", "'true'"]],
    test: languages,
    caughtBy: 'reaches every passage of more than 500 documents, each of which is found all along',
  },
  {
    name: 'the languages before a further change forgotten',
    file: keywords,
    replace: [['unnest(g.former || old.text_search_config)', 'unnest(array[old.text_search_config])']],
    test: languages,
    caughtBy: 'is superseded by another one: passages are found in each language that they have',
  },
  {
    name: 'the searches of a question one after the other',
    file: 'domain/knowledge/search/search-knowledge.ts',
    replace: [
      [
        '  const byVector = inTransaction',
        '  await byKeywords.catch(() => undefined);\n  const byVector = inTransaction',
      ],
    ],
    test: meaning,
    caughtBy: 'runs both searches at once',
  },
];
