import type { Defect } from './defect.ts';

const bytes = 'test/domain/foundation/bytes/postgres-byte-store.test.ts';
const generations = 'test/domain/knowledge/ingestion/generations.test.ts';

/** In stored content, in passages and their search. */
export const knowledgeDefects: readonly Defect[] = [
  {
    name: 'old generation still searched',
    file: 'domain/knowledge/search/match-keywords.ts',
    replace: [[' and d.generation = c.generation', '']],
    test: generations,
    caughtBy: 'are searched from the end of the reading on',
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
];
