import type { Defect } from './defect.ts';

const meaning = 'test/domain/knowledge/search/meaning.test.ts';
const rowsRead = 'test/domain/knowledge/embeddings/rows-read.test.ts';
const ofSpace = 'test/activities/embed-space.test.ts';
const nearest = 'domain/knowledge/search/nearest-passages.ts';
const scanned = 'domain/knowledge/search/scanned-vectors.ts';
const partitioning = 'test/domain/knowledge/embeddings/partition-generation.test.ts';
const graphs = 'domain/operations/schema/functions/embeddings.sql';
const graphing = 'test/domain/knowledge/embeddings/graph-generation.test.ts';

/** In the search for the nearest vectors, in their lists and graphs. */
export const vectorSearchDefects: readonly Defect[] = [
  {
    name: 'vectors of every generation searched',
    file: scanned,
    replace: [['v.embedding_id = ? and v.collection_id', '?::uuid is not null and v.collection_id']],
    test: ofSpace,
    caughtBy: 'is not seen by searches before its vectors are complete',
  },
  {
    name: 'filter of a vector search behind its limit',
    file: nearest,
    replace: [
      [
        'select v.document_id, v.generation, v.position from ${vectors.sql}',
        'select v.* from (select v.document_id, v.generation, v.position from ${vectors.sql}',
      ],
      [` \${filtered.sql('v.document_id')}\n       order by`, '\n       order by'],
      [
        '& ?::bit varying), v.bits limit ?)',
        `& ?::bit varying), v.bits limit ?) v where true \${filtered.sql('v.document_id')})`,
      ],
      ['      ...filtered.params,\n', ''],
      ['      compared(query, part),\n', '      compared(query, part),\n      ...filtered.params,\n'],
    ],
    test: meaning,
    caughtBy: 'behind any number of better ones',
  },
  {
    name: 'all signs of a vector counted alike',
    file: nearest,
    replace: [['const heavyShares = [0.65, 0.3];', 'const heavyShares = [1, 1];']],
    test: 'test/domain/knowledge/search/nearest-passages.test.ts',
    caughtBy: 'with fewer different signs than it compares',
  },
  {
    name: 'equally many different signs in the order of the table',
    file: nearest,
    replace: [['::bit varying), v.bits limit ?),', '::bit varying) limit ?),']],
    test: 'test/domain/knowledge/search/nearest-passages.test.ts',
    caughtBy: 'in whichever order they are stored',
  },
  {
    name: 'vectors without a list not searched',
    file: scanned,
    replace: [
      ['(select 0::smallint) and (select 0::smallint)', '(select 1::smallint) and (select 0::smallint)'],
    ],
    test: partitioning,
    caughtBy: 'while searches find what they found',
  },
  {
    name: 'lists found by the statistics of other spaces',
    file: scanned,
    replace: [[' offset 0) n) v', ') n) v']],
    test: rowsRead,
    caughtBy: 'a search of lists reads those nearest to its question',
  },
  {
    name: 'listed vectors read in the table',
    file: scanned,
    replace: [['v.list > 0 and v.list between', 'v.list between']],
    test: rowsRead,
    caughtBy: 'of the table nothing that a vacuum has seen',
  },
  {
    name: 'too few passages in the lists of a search',
    file: nearest,
    replace: [['found.hits.length >= query.limit', 'found.hits.length >= 0']],
    test: partitioning,
    caughtBy: 'hold too few passages of the searched collections',
  },
  {
    name: 'new vectors outside of their graph',
    file: graphs,
    replace: [
      ['    where g.tenant_id = new.tenant_id and g.id = new.embedding_id), 0);', '    where false), 0);'],
    ],
    test: graphing,
    caughtBy: 'takes the vectors of new documents',
  },
  {
    name: 'too few candidates of a graph',
    file: nearest,
    replace: [['found.compared === compared(query, part)', 'found.compared >= 0']],
    test: graphing,
    caughtBy: 'too few of the searched collections',
  },
  {
    name: 'a graph that is complete before its last vector',
    file: 'domain/knowledge/embeddings/graph-generation.ts',
    replace: [['      if (!hasPassed) {', '      if (after !== undefined) {']],
    test: graphing,
    caughtBy: 'built in slices that may be interrupted',
  },
  {
    name: 'a graph that no search reads',
    file: nearest,
    replace: [['query.graph > 0', 'query.graph > 1']],
    test: graphing,
    caughtBy: 'what searches take their candidates from',
  },
  {
    name: 'a large space that is not divided into lists',
    file: 'activities/knowledge/embed-space.ts',
    replace: [['findLists === undefined ||', 'findLists !== null ||']],
    test: ofSpace,
    caughtBy: 'is divided into lists',
  },
  {
    name: 'lists of another space in a process that knows four',
    file: 'adapters/embeddings/find-lists.ts',
    replace: [['const number = numberOf(lists);', 'const number = Math.min(numberOf(lists), 2);']],
    test: 'test/adapters/embeddings/find-lists.test.ts',
    caughtBy: 'among the lists of more spaces than a process knows',
  },
  {
    name: 'new vectors without a list',
    file: 'domain/knowledge/embeddings/vectors.ts',
    replace: [['target.lists?.listOf(vector) ?? 0', '0']],
    test: partitioning,
    caughtBy: 'take the vectors of new documents',
  },
];
