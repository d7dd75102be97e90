import type { Client as TemporalClient } from '@temporalio/client';
import type { Client } from 'pg';
import type { Notifiable } from './delivery-kinds.ts';

/** The notified users, compared with the model; each fault is a sentence. */
interface Delivered {
  /** Expected notifications. */
  expected: number;
  found: number;
  missing: string[];
  twice: string[];
  tooMany: string[];
}

export interface DeliveryRun extends Delivered {
  events: number;
  /** Events with more recipients than two pages, so that pages are delivered two at a time. */
  wide: number;
  /** The number of each type. */
  recorded: Record<string, number>;
  /** The end of each killed worker. */
  kills: (NodeJS.Signals | null)[];
  /** Replacements that could not be started. */
  failures: string[];
  /** Fan-outs during whose activity a worker was lost, according to Temporal. */
  cutOff: number;
  seconds: number;
}

export async function compareDelivered(
  admin: Client,
  tenantId: string,
  deliveries: readonly Notifiable[],
): Promise<Delivered> {
  const { rows } = await admin.query<{ mark: number | null; user_id: string; times: number }>(
    `select (e.metadata ->> 'mark')::int as mark, n.user_id, count(*)::int as times
       from notifications n left join events e on e.tenant_id = n.tenant_id and e.id = n.event_id
      where n.tenant_id = $1 group by 1, 2`,
    [tenantId],
  );
  const found = Map.groupBy(rows, ({ mark }) => mark);
  const say = (mark: number | null, userId: string) =>
    `${mark === null ? 'an event of nobody here' : `${deliveries[mark]?.event.type} ${mark}`} to ${userId}`;
  return {
    expected: deliveries.reduce((sum, { notified }) => sum + notified.size, 0),
    found: rows.reduce((sum, { times }) => sum + times, 0),
    missing: deliveries.flatMap(({ notified }, mark) => {
      const users = new Set(found.get(mark)?.map((row) => row.user_id));
      return [...notified].filter((id) => !users.has(id)).map((id) => say(mark, id));
    }),
    twice: rows.filter(({ times }) => times > 1).map((row) => say(row.mark, row.user_id)),
    tooMany: rows
      .filter((row) => row.mark === null || !deliveries[row.mark]?.notified.has(row.user_id))
      .map((row) => say(row.mark, row.user_id)),
  };
}

/**
 * The number of fan-outs with an activity that Temporal gave to another worker because the first fell silent.
 */
export async function countPartial({ workflow }: TemporalClient): Promise<number> {
  let count = 0;
  for await (const { workflowId } of workflow.list({ query: `WorkflowType = 'fanOutEvent'` })) {
    const handle = workflow.getHandle(workflowId);
    // All users may be notified before Temporal records it, and only then does it show how an attempt began.
    await handle.result();
    const { events } = await handle.fetchHistory();
    const wasInterrupted = events?.some(
      ({ activityTaskStartedEventAttributes: started }) => started?.lastFailure?.timeoutFailureInfo != null,
    );
    count += wasInterrupted === true ? 1 : 0;
  }
  return count;
}

/** The run in a few lines, with some of the faults. */
export function describeDelivered(run: DeliveryRun): string {
  const wrong = { missing: run.missing, twice: run.twice, 'too many': run.tooMany };
  return [
    `${run.events} events, ${run.kills.length} workers killed, ${run.cutOff} fan-outs cut off and resumed, ${run.seconds} s`,
    `expected ${run.expected}, found ${run.found}: ${Object.entries(wrong)
      .map(([name, list]) => `${list.length} ${name}`)
      .join(', ')}`,
    JSON.stringify(run.recorded),
    ...Object.entries(wrong).flatMap(([name, list]) => list.slice(0, 5).map((each) => `${name}: ${each}`)),
  ].join('\n');
}
