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
  /** Milliseconds after which a fan-out gives its place to others of its queue, {@link turnMs} without it. */
  fanOutTurnMs?: number;
}

/** Recipients of one transaction, where several are left. */
export const pageSize = 1_250;
/** Transactions at a time. */
const lanes = 2;
/** Whether a fan-out of this process uses its lanes: the connections of more would be missed by those who wait for answers. */
let lanesAreBusy = false;
/** Long enough that starting an activity costs little beside it, short enough for those who wait. */
const turnMs = 2_000;

/**
 * Tells recipients, page after page, until there are no more, its turn is over or its worker is asked to go; the
 * result says how far it got. So does the heartbeat, so that the attempt after a crash goes on there; what the lost
 * attempt had committed beyond it is dropped by the unique key. The first page is told alone, since most events have no
 * other; so is every page while another fan-out has the lanes.
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
