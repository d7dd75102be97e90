import type { Defect } from './defect.ts';

const collection = 'test/domain/operations/scope-erasure/erase-collection.test.ts';
const space = 'test/domain/operations/scope-erasure/erase-space.test.ts';
const collections = 'test/domain/knowledge/collections/collections.test.ts';
const batches = 'domain/operations/scope-erasure/erase-below.ts';
const plan = 'domain/operations/scope-erasure/plan-scope.ts';

/** In what belongs to a deleted space or collection, and how it is erased. */
export const scopeErasureDefects: readonly Defect[] = [
  {
    name: 'a table below a collection left out',
    file: plan,
    replace: [['if (child === parent ||', `if (child === 'lexeme_stats' || child === parent ||`]],
    test: collection,
    caughtBy: 'erases its row in every table',
  },
  {
    name: 'a model that goes with a credential of the space',
    file: plan,
    replace: [['child === rootTable || isUse', 'child === rootTable || (isUse && false)']],
    test: space,
    caughtBy: 'erases what foreign keys',
  },
  {
    name: 'the streams of a deleted space kept',
    file: plan,
    replace: [["  ['stream_runs', 'response_id'],\n", '']],
    test: space,
    caughtBy: 'erases what foreign keys',
  },
  {
    name: 'a batch of a deleted collection without a limit of its locks',
    file: batches,
    replace: [['size > 1 ? maxLockMs : null', 'null']],
    test: collection,
    caughtBy: 'holds the locks of no more rows',
  },
  {
    name: 'a collection that is erased without having been deleted',
    file: 'domain/operations/scope-erasure/erase-scope.ts',
    replace: [['and r.deleted_at is null)', 'and false)']],
    test: collection,
    caughtBy: 'leaves a collection alone',
  },
  {
    name: 'a deleted collection that stays in sight',
    file: 'domain/foundation/erasures/begin-erasure.ts',
    replace: [['set deleted_at = now()', 'set deleted_at = null']],
    test: collections,
    caughtBy: 'put a collection out of sight',
  },
  {
    name: 'responses that go on in a deleted space',
    file: 'domain/operations/scope-erasure/halt-space.ts',
    replace: [
      ['await eachOf(unitOfWork, space, runningAfter,', 'await eachOf(unitOfWork, space, async () => [],'],
    ],
    test: space,
    caughtBy: 'is out of sight at once',
  },
];
