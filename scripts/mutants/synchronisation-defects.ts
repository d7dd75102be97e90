import type { Defect } from './defect.ts';

const pages = 'test/activities/connectors/fetch-pages.test.ts';
const marks = 'domain/knowledge/synchronisation/mark-seen.ts';

/** In what a run stores of the documents that its source lists. */
export const synchronisationDefects: readonly Defect[] = [
  {
    name: 'an unchanged document counted by each attempt',
    file: marks,
    replace: [
      ['and connector_id = ? and listing < ?', 'and connector_id = ?'],
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
    replace: [["  await em.execute('discard plans');\n", '']],
    test: pages,
    caughtBy: 'by their key in a database that was empty before',
  },
];
