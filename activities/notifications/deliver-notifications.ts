import { Context } from '@temporalio/activity';
import { nilUuid } from '#domain/kernel/ids.ts';
import { reach } from '#domain/kernel/failpoint.ts';
import { deliverPage, type Delivered } from '#domain/notifications/deliver-page.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import type { PageInput, PageResult } from '#workflows/fan-out-event/messages.ts';

export interface NotificationDependencies {
  unitOfWork: UnitOfWork;
}

/** Recipients of one transaction. */
export const pageSize = 5_000;
/** Milliseconds after which a fan-out gives its place to others of its queue: some 100,000 recipients. */
const turnMs = 5_000;

/**
 * Tells recipients, page after page, until there are no more, its turn is over or its worker is asked to go; the
 * result says how far it got. So does the heartbeat, so that the attempt after a crash goes on there; what the lost
 * attempt had committed beyond it is dropped by the unique key.
 */
export async function deliverNotifications(
  { unitOfWork }: NotificationDependencies,
  { tenantId, eventId, after }: PageInput,
): Promise<PageResult> {
  const context = Context.current();
  const endsAt = performance.now() + turnMs;
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
