import { Context } from '@temporalio/activity';
import { nilUuid } from '#domain/kernel/ids.ts';
import { reach } from '#domain/kernel/failpoint.ts';
import { deliverPage, type Delivered } from '#domain/notifications/deliver-page.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import type { PageInput, PageResult } from '#workflows/fan-out-event/messages.ts';

export interface NotificationDependencies {
  unitOfWork: UnitOfWork;
  /** Milliseconds after which a fan-out gives its place to others of its queue, {@link turnMs} without it. */
  fanOutTurnMs?: number;
}

/** Recipients of one transaction. */
export const pageSize = 2_500;
/** Long enough that starting an activity costs little beside it, short enough for those who wait. */
const turnMs = 2_000;

/**
 * Tells recipients, page after page, until there are no more, its turn is over or its worker is asked to go; the
 * result says how far it got. So does the heartbeat, so that the attempt after a crash goes on there; what the lost
 * attempt had committed beyond it is dropped by the unique key.
 */
export async function deliverNotifications(
  { unitOfWork, fanOutTurnMs = turnMs }: NotificationDependencies,
  { tenantId, eventId, after }: PageInput,
): Promise<PageResult> {
  const context = Context.current();
  const endsAt = performance.now() + fanOutTurnMs;
  let { next, delivered } = progressOf(context.info.heartbeatDetails) ?? { next: after, delivered: 0 };
  do {
    const from: string = next ?? nilUuid;
    context.heartbeat({ next: from, delivered });
    const page: Delivered = await unitOfWork.inTenant(tenantId, (em) =>
      deliverPage(em, { tenantId, eventId, after: from, limit: pageSize }),
    );
    reach('notify.after_commit');
    ({ next } = page);
    delivered += page.delivered;
  } while (next !== null && performance.now() < endsAt && !context.cancellationSignal.aborted);
  return { next, delivered };
}

function progressOf(details: unknown): Delivered | null {
  return typeof details === 'object' && details !== null ? (details as Delivered) : null;
}
