import { setTimeout as sleep } from 'node:timers/promises';
import { workflowIdOf } from '#domain/foundation/durable/workflow-types.ts';
import type { StackProcess } from '../support/stack.ts';
import type { Deployment } from './deployment.ts';
import type { Fleet } from './fleet.ts';
import type { KnowledgeSpace } from './knowledge-client.ts';
import { documentRows, isInMidEmbedding, isStored, until, type DocumentRow } from './knowledge-rows.ts';
import type { KnowledgeSearches } from './knowledge-searches.ts';

/** What is killed; of a worker, also the work that it must hold. */
export type KnowledgeStrike = 'embedding' | 'stored' | 'anywhere' | 'postgres' | 'temporal';

export interface KnowledgeField {
  deployment: Deployment;
  fleet: Fleet;
  space: KnowledgeSpace;
  searches: KnowledgeSearches;
  random: () => number;
}

export interface KnowledgeStruck {
  kind: KnowledgeStrike;
  signal: string | null;
  at: number;
  /** Documents that the killed worker held, as they were once it could write no more. */
  held: DocumentRow[];
}

const searchMs = 60_000;
/** Kills of workers that had just finished what they held. */
const maxLate = 3;
/** The number of the proto's enumeration. */
const started = 2;

/** @throws when no worker holds work of this kind in time */
export async function strikeKnowledge(
  field: KnowledgeField,
  kind: KnowledgeStrike,
): Promise<KnowledgeStruck> {
  const { deployment, fleet, searches, random } = field;
  if (kind === 'postgres' || kind === 'temporal') {
    const at = performance.now();
    const restart = () => deployment[kind].killAndRestart();
    const { signal } = await (kind === 'postgres' ? searches.duringOutage(restart) : restart());
    return { kind, signal, at, held: [] };
  }
  await fleet.untilReady('worker', 2);
  if (kind === 'anywhere') {
    const ready = fleet.ready('worker');
    const at = performance.now();
    const signal = await fleet.kill(ready[Math.floor(random() * ready.length)]!);
    return { kind, signal, at, held: [] };
  }
  const isWanted = kind === 'embedding' ? isInMidEmbedding : isStored;
  let late = 0;
  for (const end = performance.now() + searchMs; performance.now() < end;) {
    const rows = await rowsOf(field, isWanted);
    const found = await holder(field, rows);
    if (found === null) {
      await sleep(20);
      continue;
    }
    const at = performance.now();
    const signal = await fleet.kill(found.worker);
    const held = (await rowsOf(field, isWanted)).filter(({ id }) => found.ids.has(id));
    if (held.length > 0 || late === maxLate) {
      return { kind, signal, at, held };
    }
    late += 1;
    await fleet.untilReady('worker', 2);
  }
  throw new Error(`No worker held a document (${kind}).`);
}

function rowsOf({ deployment, space }: KnowledgeField, isWanted: (row: DocumentRow) => boolean) {
  return until('The documents were not read', 30_000, async () =>
    (await documentRows(deployment.query, space)).filter(isWanted),
  );
}

/** The ready worker that runs an activity of one of the documents, with all of them that it holds. */
async function holder(
  { deployment, fleet, space }: KnowledgeField,
  rows: readonly DocumentRow[],
): Promise<{ worker: StackProcess; ids: Set<string> } | null> {
  const { tenantId } = deployment.world;
  const pidOf = async (workflowId: string): Promise<number> => {
    const handle = deployment.stack.temporal.workflow.getHandle(workflowId);
    const description = await handle.describe().catch(() => null);
    const [activity] = description?.raw.pendingActivities ?? [];
    return Number(activity?.state) === started
      ? Number.parseInt(activity?.lastWorkerIdentity ?? '', 10)
      : Number.NaN;
  };
  const pids = await Promise.all(
    rows.map(async ({ id, status }) =>
      // A ready document is embedded by the workflow of its space.
      status === 'processing'
        ? pidOf(workflowIdOf('ingestDocument', { tenantId, documentId: id }))
        : pidOf(workflowIdOf('embedSpace', { tenantId, spaceId: space.spaceId })),
    ),
  );
  for (const worker of fleet.ready('worker')) {
    const ids = new Set(rows.filter((_, at) => pids[at] === worker.child.pid).map(({ id }) => id));
    if (ids.size > 0) return { worker, ids };
  }
  return null;
}
