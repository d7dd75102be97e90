import type { Defect } from './defect.ts';

const signals = 'test/temporal/signals.test.ts';

/** In what travels through the outbox. */
export const durableDefects: readonly Defect[] = [
  {
    name: 'a signal lost between commit and send',
    file: 'temporal/dispatcher.ts',
    replace: [
      [
        "        hitFailpoint('dispatch.before_start');\n",
        "        if (row.kind === 'signal') {\n          await removeFromOutbox(deps.database, row);\n        }\n        hitFailpoint('dispatch.before_start');\n",
      ],
    ],
    test: signals,
    caughtBy: 'stays in the outbox when Temporal does not take it',
  },
  {
    name: 'a signal that overtakes its start',
    file: 'domain/foundation/durable/send-after-commit.ts',
    replace: [
      [
        'if (!(await dispatcher.dispatch(row))) {',
        'if (!(await dispatcher.dispatch(row)) && rows.length < 0) {',
      ],
    ],
    test: signals,
    caughtBy: 'waits while Temporal has not taken what is before it',
  },
  {
    name: 'a message sent beside one that is pending',
    file: 'domain/foundation/durable/outbox.ts',
    replace: [['case when exists (', 'case when false and exists (']],
    test: 'test/domain/foundation/durable/outbox.test.ts',
    caughtBy: 'leaves a message behind one that is not sent yet',
  },
  {
    name: 'a message of a transaction that was rolled back',
    file: 'domain/foundation/persistence/unit-of-work.ts',
    replace: [
      [
        'return { result: await work(inside), inside };',
        'return { result: await work(inside).catch((fault: unknown) => {\n          this.#hook?.committed(inside);\n          throw fault;\n        }), inside };',
      ],
    ],
    test: 'test/domain/foundation/durable/outbox.test.ts',
    caughtBy: 'nothing of what is rolled back',
  },
  {
    name: 'statements after a refused begin',
    file: 'domain/foundation/persistence/joined-begin.ts',
    replace: [['        this.#refusal = { reason };\n', '']],
    test: 'test/domain/foundation/persistence/joined-begin.test.ts',
    caughtBy: 'runs no statement after a refused begin',
  },
];
