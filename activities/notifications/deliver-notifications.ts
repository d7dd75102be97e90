import { Context } from '@temporalio/activity';
import { nilUuid } from '#domain/foundation/kernel/ids.ts';
import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import { splitPages } from '#domain/operations/notifications/split-pages.ts';
import { deliverPage, type Delivered } from '#domain/operations/notifications/deliver-page.ts';
import type { PageRange } from '#domain/operations/notifications/find-audience.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import type { PageInput, PageResult } from '#workflows/fan-out-event/messages.ts';

export interface NotificationDependencies {
  unitOfWork: UnitOfWork;
  /** Milliseconds after which a fan-out frees its slot for others of its queue; defaults to {@link turnMs}. */
  fanOutTurnMs?: number;
}

/** Max recipients per transaction, when several pages are left. */
export const pageSize = 1_250;
/** Max concurrent transactions. */
const lanes = 2;
/** Whether a fan-out of this process uses the lanes: more connections would delay responses. */
let lanesAreBusy = false;
/** Long enough to amortise starting an activity, short enough for waiting fan-outs. */
const turnMs = 2_000;

/**
 * Notifies recipients page by page, until none are left, its turn is over or its worker shuts down. The result and
 * the heartbeat details hold the position, from which the attempt after a crash continues; the unique key drops
 * repeats of pages that the lost attempt had committed. The first page runs alone, because most events have only one;
 * so do all pages while another fan-out uses the lanes.
 */
export async function deliverNotifications(
  { unitOfWork, fanOutTurnMs = turnMs }: NotificationDependencies,
  { tenantId, eventId, after }: PageInput,
): Promise<PageResult> {
  const context = Context.current();
  const endsAt = performance.now() + fanOutTurnMs;
  const split = (from: string) =>
    unitOfWork.inTenant(tenantId, (em) =>
      splitPages(em, { tenantId, eventId, after: from, size: pageSize, count: lanes }),
    );
  const deliver = async (page: PageRange) => {
    const pages = await unitOfWork.inTenant(tenantId, (em) =>
      deliverPage(em, { tenantId, eventId, ...page }),
    );
    hitFailpoint('notify.after_commit');
    return pages;
  };
  let { next, delivered } = progressOf(context.info.heartbeatDetails) ?? { next: after, delivered: 0 };
  do {
    const from: string = next ?? nilUuid;
    context.heartbeat({ next: from, delivered });
    const pages =
      from === nilUuid || lanesAreBusy
        ? [await deliver({ after: from, limit: pageSize })]
        : await withLanes(async () => Promise.all((await split(from)).map(deliver)));
    for (const page of pages) {
      ({ next } = page);
      delivered += page.delivered;
    }
  } while (next !== null && performance.now() < endsAt && !context.cancellationSignal.aborted);
  return { next, delivered };
}

async function withLanes<T>(work: () => Promise<T>): Promise<T> {
  lanesAreBusy = true;
  try {
    return await work();
  } finally {
    lanesAreBusy = false;
  }
}

function progressOf(details: unknown): Delivered | null {
  return typeof details === 'object' && details !== null ? (details as Delivered) : null;
}
