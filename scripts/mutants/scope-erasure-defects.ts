import type { Defect } from './defect.ts';

const collection = 'test/domain/operations/scope-erasure/erase-collection.test.ts';
const space = 'test/domain/operations/scope-erasure/erase-space.test.ts';
const principal = 'test/domain/operations/scope-erasure/erase-principal.test.ts';
const project = 'test/domain/operations/scope-erasure/erase-project.test.ts';
const collections = 'test/domain/knowledge/collections/collections.test.ts';
const batches = 'domain/operations/scope-erasure/erase-below.ts';
const own = 'domain/operations/scope-erasure/hide-own.ts';
const plan = 'domain/operations/scope-erasure/plan-scope.ts';

/** In what belongs to a deleted space, collection, project or person, and how it is erased. */
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
    replace: [["parent !== rootTable ? 'none' : 'part'", "parent !== rootTable ? 'part' : 'part'"]],
    test: space,
    caughtBy: 'erases what foreign keys',
  },
  {
    name: 'the streams of a deleted space kept',
    file: plan,
    replace: [["  ['stream_runs', 'response_id', 'responses'],\n", '']],
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
    replace: [['  await cancelWork(unitOfWork, work);\n', '']],
    test: space,
    caughtBy: 'is out of sight at once',
  },
  {
    name: 'a thread of a deleted person in which others wrote',
    file: own,
    replace: [['m.created_by <> t.created_by)', 'false)']],
    test: principal,
    caughtBy: 'is cancelled, hidden and erased',
  },
  {
    name: 'a thread of a deleted person hidden without a lock',
    file: own,
    replace: [[' order by t.id for update of t`', ' order by t.id`']],
    test: principal,
    caughtBy: 'keeps a thread in which somebody is just writing',
  },
  {
    name: 'notifications of a deleted person kept',
    file: 'domain/operations/scope-erasure/bonds-of-person.ts',
    replace: [["column.endsWith('_by') ||", "column.endsWith('_by') || name === 'notifications.user_id' ||"]],
    test: principal,
    caughtBy: 'erases what is its own in every table',
  },
  {
    name: 'items of a deleted person that another answer was given',
    file: 'domain/operations/scope-erasure/bonds-of-person.ts',
    replace: [["if (child === 'items')", "if (child === '')"]],
    test: principal,
    caughtBy: 'is cancelled, hidden and erased',
  },
  {
    name: 'what another answer is just being given from a deleted person',
    file: 'domain/operations/scope-erasure/bonds-of-person.ts',
    replace: [["parent === 'items' ?", "parent === '' ?"]],
    test: principal,
    caughtBy: 'leaves an answer of somebody else what it is just being given',
  },
  {
    name: 'a response of a deleted person that nobody cancels once it is hidden',
    file: 'domain/operations/scope-erasure/halt-principal.ts',
    replace: [['cancelWork(purge, work)', 'cancelWork(unitOfWork, work)']],
    test: principal,
    caughtBy: 'cancels a response that was hidden while it ran',
  },
  {
    name: 'a person erased while its last requests still write',
    file: 'domain/operations/scope-erasure/halt-principal.ts',
    replace: [["interval '15 seconds'", "interval '0 seconds'"]],
    test: principal,
    caughtBy: 'hides a thread that a request began which was admitted before the deletion',
  },
  {
    name: 'threads that name a deleted project',
    file: 'domain/conversations/threads/read-threads.ts',
    replace: [['projects.has(thread.projectId) ?', 'true ?']],
    test: project,
    caughtBy: 'hides a deleted project',
  },
];
