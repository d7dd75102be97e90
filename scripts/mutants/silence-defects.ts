import type { Defect } from './defect.ts';

const ofPostgres = 'test/domain/foundation/persistence/silence.test.ts';

/** In the handling of hosts that neither answer nor close connections. */
export const silenceDefects: readonly Defect[] = [
  {
    name: 'no client-side bound on PostgreSQL',
    file: 'domain/foundation/persistence/connection-watch.ts',
    replace: [['({ dueAt }) => this.#now >= dueAt', '() => false']],
    test: ofPostgres,
    caughtBy: 'a call that is never answered',
  },
  {
    name: 'idle connections of a silent server kept',
    file: 'domain/foundation/persistence/connection-watch.ts',
    replace: [['        this.#suspect(other);\n', '']],
    test: ofPostgres,
    caughtBy: 'of a pool that has gone silent one call hangs',
  },
  {
    name: 'the silent connection to Temporal kept',
    file: 'temporal/renewed-connection.ts',
    replace: [['        this.#renew(connection);\n', '']],
    test: 'test/temporal/renewed-connection.test.ts',
    caughtBy: 'goes over a new connection',
  },
];
