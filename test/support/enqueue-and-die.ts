import { Client, Connection } from '@temporalio/client';
import pino from 'pino';
import { createTelemetry } from '#adapters/telemetry/metrics.ts';
import { signalWithStart } from '#domain/foundation/durable/messages.ts';
import { enqueue } from '#domain/foundation/durable/outbox.ts';
import { sendAfterCommit } from '#domain/foundation/durable/send-after-commit.ts';
import { armFailpoint, type Failpoint } from '#domain/foundation/kernel/failpoint.ts';
import { Database } from '#domain/foundation/persistence/database.ts';
import { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { createOrm } from '#domain/operations/schema/orm.ts';
import { createDispatcher } from '#temporal/dispatcher.ts';

/** What the process is to do, as the JSON of its one argument. */
export interface Doomed {
  url: string;
  address: string;
  namespace: string;
  tenantId: string;
  sweep: string;
  failpoint: Failpoint;
}

// A process that commits one signal, and dies at the failpoint.
const { url, address, namespace, tenantId, sweep, failpoint } = JSON.parse(process.argv[2]!) as Doomed;
const connection = await Connection.connect({ address });
const dispatcher = createDispatcher({
  client: new Client({ connection, namespace }),
  database: new Database({ url, statementTimeoutMs: 5_000 }),
  metrics: createTelemetry(),
  logger: pino({ level: 'silent' }),
});
const orm = createOrm({ url, statementTimeoutMs: 5_000 });
armFailpoint(failpoint);
await new UnitOfWork(orm, sendAfterCommit(dispatcher)).inTenant(tenantId, (em) =>
  enqueue(em, signalWithStart('runSweep', { sweep }, 'wake', [{ budgetSeconds: 7 }])),
);
