import type { Defect } from './defect.ts';

const pages = 'test/activities/connectors/fetch-pages.test.ts';
const watches = 'test/activities/connectors/watch-source.test.ts';
const guard = 'test/activities/connectors/deletion-guard.test.ts';
const unknownTenant = 'test/domain/knowledge/synchronisation/unknown-tenant.test.ts';
const marks = 'domain/knowledge/synchronisation/mark-seen.ts';

/** In what a run stores of the documents that its source lists. */
export const synchronisationDefects: readonly Defect[] = [
  {
    name: 'an unchanged document counted by each attempt',
    file: marks,
    replace: [
      [' and (listing < ? or is_gone)', ''],
      ['[listing, tenantId, connectorId, listing, JSON', '[listing, tenantId, connectorId, JSON'],
    ],
    test: pages,
    caughtBy: 'counts a document that has not changed once',
  },
  {
    name: 'a new name of unchanged content ignored',
    file: marks,
    replace: [['    listed.name === known.name &&\n', '']],
    test: pages,
    caughtBy: 'stores what is new of its listing',
  },
  {
    name: 'foreign keys checked by plans of empty tables',
    file: 'domain/knowledge/synchronisation/store-documents.ts',
    replace: [["'discard plans; ", "'"]],
    test: pages,
    caughtBy: 'by their key in a database that was empty before',
  },
  {
    name: 'foreign keys checked by plans for a tenant without statistics',
    file: 'domain/knowledge/synchronisation/store-documents.ts',
    replace: [["; set local plan_cache_mode = force_generic_plan'", "'"]],
    test: unknownTenant,
    caughtBy: 'stores new documents without reading those that it has stored',
  },
  {
    name: 'look-ups planned for a tenant without statistics',
    file: 'domain/foundation/persistence/average-uuid.ts',
    replace: [["'(select ?::uuid)'", "'?'"]],
    test: unknownTenant,
    caughtBy: 'looks the references of a page up one by one',
  },
  {
    name: 'frequencies of words counted by a plan for a tenant without statistics',
    file: 'domain/operations/schema/functions/keyword-search.sql',
    replace: [['\nset plan_cache_mode = force_generic_plan', '']],
    test: unknownTenant,
    caughtBy: 'one look-up for each passage of it',
  },
  {
    name: 'candidates of a search planned for a tenant without statistics',
    file: 'domain/operations/schema/functions/keyword-search.sql',
    replace: [
      ['d.tenant_id = (select $3) and', 'd.tenant_id = $3 and'],
      ['any (array(select unnest($4)))', 'any ($4)'],
    ],
    test: unknownTenant,
    caughtBy: 'of the passages with a rare word, and no others',
  },
  {
    name: 'documents of connectors that take no turn',
    file: 'activities/connectors/fetch-document.ts',
    replace: [['  await work.deps.bulk.take(open.tenantId, signal);\n', '']],
    test: pages,
    caughtBy: 'has a turn for each document that is fetched',
  },
  {
    name: 'a tenant with all turns of a round',
    file: 'domain/foundation/kernel/bulk-turns.ts',
    replace: [['      this.#waiting.delete(tenantId);\n      queue.shift', '      queue.shift']],
    test: 'test/domain/foundation/kernel/bulk-turns.test.ts',
    caughtBy: 'gives tenants turns',
  },
  {
    name: 'changes before a watch of a source never looked for',
    file: 'activities/connectors/watch-source.ts',
    replace: [['        gaps.note();\n', '']],
    test: watches,
    caughtBy: 'queues an incremental run after its beginning',
  },
  {
    name: 'reported changes of a source without a pace',
    file: 'domain/knowledge/connectors/report-change.ts',
    replace: [['const first = reported[pace.runs - 1];', 'const first = reported[pace.runs];']],
    test: watches,
    caughtBy: 'queues two runs within its pace',
  },
  {
    name: 'a watch of a source with the credential before',
    file: 'domain/knowledge/connectors/watched-connector.ts',
    replace: [['k.id, k.version, c.client', 'k.id, c.client']],
    test: watches,
    caughtBy: 'begins again with another credential',
  },
  {
    name: 'a tenant with all places of a worker for watches',
    file: 'activities/connectors/watch-places.ts',
    replace: [['if (taken >= this.#maxPerTenant)', 'if (taken > this.#maxPerTenant)']],
    test: watches,
    caughtBy: 'gives a tenant a part of the places of a worker',
  },
  {
    name: 'a stream of changes read without a pace',
    file: 'adapters/sources/mcp/paced-body.ts',
    replace: [['if (aheadMs > 0)', 'if (aheadMs > Infinity)']],
    test: 'test/adapters/sources/mcp-watch.test.ts',
    caughtBy: 'reads a flood at a pace',
  },
  {
    name: 'notifications in answers to subscriptions without a limit',
    file: 'adapters/sources/mcp/watch-fetch.ts',
    replace: [['maxEvents: 16,', 'maxEvents: null,']],
    test: 'test/adapters/sources/mcp-watch.test.ts',
    caughtBy: 'reads few notifications in the answer to a subscription',
  },
  {
    name: 'an answer to each subscription left open',
    file: 'adapters/sources/mcp/watch-fetch.ts',
    replace: [[': this.#answers.hold(answer);', ': answer;']],
    test: 'test/adapters/sources/mcp-watch.test.ts',
    caughtBy: 'leaves few answers to subscriptions open',
  },
  {
    name: 'runs that find nothing at the pace of those that do',
    file: 'domain/knowledge/connectors/report-change.ts',
    replace: [['withinMs * 2 ** doublings', 'withinMs + 0 * doublings']],
    test: watches,
    caughtBy: 'queues fewer runs while those that reports have begun change nothing',
  },
  {
    name: 'a checkpoint saved while deletions are held',
    file: 'domain/knowledge/connectors/finish-run.ts',
    replace: [['if (run.deletesHeld > 0 && !run.listsChanges) {', 'if (run.deletesHeld < 0) {']],
    test: 'test/workflows/sync-connector.test.ts',
    caughtBy: 'deletes on confirmation what only a listing of everything lacks',
  },
  {
    name: 'documents that cannot be read any more left in place',
    file: 'domain/knowledge/synchronisation/store-batch.ts',
    replace: [["is_gone: outcome.is === 'skipped' && documentId !== null,", 'is_gone: false,']],
    test: 'test/workflows/sync-connector.test.ts',
    caughtBy: 'leaves out what cannot be read',
  },
  {
    name: 'what a listing lacks counted by the guard before the source is asked',
    file: 'domain/knowledge/synchronisation/deletion-guard.ts',
    replace: [['const gone = said + absent;', 'const gone = said + absent + unasked;']],
    test: guard,
    caughtBy: 'does not count what a listing lacks and the source still has',
  },
  {
    name: 'the oldest documents taken for a sample of all',
    file: 'domain/knowledge/synchronisation/missing-documents.ts',
    replace: [['order by md5(id::text) limit ?', 'order by id limit ?']],
    test: guard,
    caughtBy: 'does not take the oldest documents for a sample of all',
  },
];
