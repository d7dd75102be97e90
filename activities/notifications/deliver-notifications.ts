import { Context } from '@temporalio/activity';
import { nilUuid } from '#domain/kernel/ids.ts';
import { reach } from '#domain/kernel/failpoint.ts';
import { cutPages } from '#domain/notifications/cut-pages.ts';
import { deliverPage, type Delivered } from '#domain/notifications/deliver-page.ts';
import type { Stretch } from '#domain/notifications/find-audience.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import type { PageInput, PageResult } from '#workflows/fan-out-event/messages.ts';

export interface NotificationDependencies {
  unitOfWork: UnitOfWork;
  /** Milliseconds after which a fan-out gives its place to others of its queue, {@link turnMs} without it. */
  fanOutTurnMs?: number;
}

/** Recipients of one transaction. */
export const pageSize = 1_250;
/** Transactions of one fan-out at a time. */
const lanes = 2;
/** Long enough that starting an activity costs little beside it, short enough for those who wait. */
const turnMs = 2_000;

/**
 * Tells recipients, page after page, until there are no more, its turn is over or its worker is asked to go; the
 * result says how far it got. So does the heartbeat, so that the attempt after a crash goes on there; what the lost
 * attempt had committed beyond it is dropped by the unique key. The first page is told alone, since most events have no
 * other.
 */
export async function deliverNotifications(
  { unitOfWork, fanOutTurnMs = turnMs }: NotificationDependencies,
  { tenantId, eventId, after }: PageInput,
): Promise<PageResult> {
  const context = Context.current();
  const endsAt = performance.now() + fanOutTurnMs;
  const cut = (from: string) =>
    unitOfWork.inTenant(tenantId, (em) =>
      cutPages(em, { tenantId, eventId, after: from, size: pageSize, count: lanes }),
    );
  const tell = async (page: Stretch) => {
    const told = await unitOfWork.inTenant(tenantId, (em) => deliverPage(em, { tenantId, eventId, ...page }));
    reach('notify.after_commit');
    return told;
  };
  let { next, delivered } = progressOf(context.info.heartbeatDetails) ?? { next: after, delivered: 0 };
  do {
    context.heartbeat({ next: next ?? nilUuid, delivered });
    const pages = next === null ? [{ after: nilUuid, limit: pageSize }] : await cut(next);
    for (const told of await Promise.all(pages.map(tell))) {
      ({ next } = told);
      delivered += told.delivered;
    }
  } while (next !== null && performance.now() < endsAt && !context.cancellationSignal.aborted);
  return { next, delivered };
}

function progressOf(details: unknown): Delivered | null {
  return typeof details === 'object' && details !== null ? (details as Delivered) : null;
}
