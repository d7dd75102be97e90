import type { Defect } from './defect.ts';

const steps = 'test/activities/connectors';
const fetching = 'activities/connectors/fetch-page.ts';

/** In what a run does with odd, slow and failing documents and sources, and with a person who ends it. */
export const runDefects: readonly Defect[] = [
  {
    name: 'a cancel that only the message says',
    file: 'domain/knowledge/connectors/plan-run.ts',
    replace: [['...(running.cancelRequested && { isCancelled: true })', '']],
    test: 'test/workflows/early-cancel.test.ts',
    caughtBy: 'whose message reached an earlier run of the actor',
  },
  {
    name: 'a lost cancel that the next run waits for',
    file: 'workflows/sync-connector/workflow.ts',
    replace: [['conclude(finished, cancelPatience)', 'conclude(finished)']],
    test: 'test/workflows/early-cancel.test.ts',
    caughtBy: 'holds up the next run for seconds',
  },
  {
    name: 'a heading with NUL',
    file: 'domain/knowledge/ingestion/chunk-text.ts',
    replace: [
      ['cleanText(section.heading.slice(0, maxHeadingLength))', 'section.heading.slice(0, maxHeadingLength)'],
    ],
    test: `${steps}/odd-characters.test.ts`,
    caughtBy: 'is stored by a connector, with those beside it',
  },
  {
    name: 'a listed name with NUL',
    file: 'domain/knowledge/synchronisation/storable-page.ts',
    replace: [['    name: cleanText(name),\n', '']],
    test: `${steps}/odd-characters.test.ts`,
    caughtBy: 'NUL in its name',
  },
  {
    name: 'passages of a large document in one statement',
    file: 'domain/knowledge/ingestion/insert-passages.ts',
    replace: [['const slice = 2_000;', 'const slice = 1_000_000;']],
    test: `${steps}/large-documents.test.ts`,
    caughtBy: 'in statements of 2,000 passages at most',
  },
  {
    name: 'readers that are dropped with a new content',
    file: 'domain/knowledge/synchronisation/store-documents.ts',
    replace: [
      ['source_readers = coalesce(r.source_readers, d.source_readers)', 'source_readers = r.source_readers'],
    ],
    test: `${steps}/kept-readers.test.ts`,
    caughtBy: 'stay as they are when its content changes',
  },
  {
    name: 'a folder that is read without its file of readers',
    file: 'activities/connectors/fetch-pages.ts',
    replace: [['if (!hasNone) throw withoutReaders();', '']],
    test: `${steps}/kept-readers.test.ts`,
    caughtBy: 'is not read, so that no document is shown to everybody',
  },
  {
    name: 'documents in a row that fail, and a source that is not checked',
    file: fetching,
    replace: [
      [
        '          await check();\n          outcomes.push(...ownFailures',
        '          outcomes.push(...ownFailures',
      ],
    ],
    test: `${steps}/failing-documents.test.ts`,
    caughtBy: 'end the step when the source does not answer either',
  },
  {
    name: 'a step without an end within its page',
    file: fetching,
    replace: [['const isOver = () => Date.now() > until;', 'const isOver = () => until < 0;']],
    test: `${steps}/slow-sources.test.ts`,
    caughtBy: 'ends within its page',
  },
  {
    name: 'a page that needs more requests than are answered, read again and again',
    file: fetching,
    replace: [['if (!isPause(error) || (', 'if (fresh.length > 0 || (']],
    test: `${steps}/slow-sources.test.ts`,
    caughtBy: 'needs more requests',
  },
  {
    name: 'a page that is given up before the limit was for it alone',
    file: fetching,
    replace: [['fresh.length >= 1.5 * repeated.length', 'fresh.length < 0']],
    test: `${steps}/slow-sources.test.ts`,
    caughtBy: 'read all of a page for which the limit is enough',
  },
  {
    name: 'a day of messages that is gone for its first instant',
    file: 'adapters/sources/slack/listing-state.ts',
    replace: [['(oldest - 0.000_001).toFixed(6)', 'oldest.toFixed(6)']],
    test: 'test/adapters/sources/slack.test.ts',
    caughtBy: 'never one that has messages',
  },
  {
    name: 'days without messages that stay until everything is listed',
    file: 'adapters/sources/slack/provider.ts',
    replace: [["if (state.mode === 'changes') {", "if (state.mode !== 'changes') {"]],
    test: 'test/adapters/sources/slack.test.ts',
    caughtBy: 'removes the day whose last message was deleted',
  },
  {
    name: 'answers that end with the signal',
    file: 'activities/connectors/ask-whether-gone.ts',
    replace: [['if (signal.aborted) return;', 'signal.throwIfAborted();']],
    test: `${steps}/slow-sources.test.ts`,
    caughtBy: 'has deleted what it knows of when it ends with its signal',
  },
  {
    name: 'a batch that locks its run at its beginning',
    file: 'domain/knowledge/synchronisation/store-batch.ts',
    replace: [
      [
        'await takeRun(em, batch.runId);',
        'await takeRun(em, batch.runId);\n  await lockTaken(em, { connector, run });',
      ],
    ],
    test: `${steps}/batch-locks.test.ts`,
    caughtBy: 'without waiting for it',
  },
  {
    name: 'a cancel that is forgotten before its run begins',
    file: 'workflows/run-connector/workflow.ts',
    replace: [['    cancelled = runId;\n', '']],
    test: 'test/workflows/early-cancel.test.ts',
    caughtBy: 'before its run has begun ends it at once',
  },
];
