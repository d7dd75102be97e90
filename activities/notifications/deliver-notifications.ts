import { Context } from '@temporalio/activity';
import { nilUuid } from '#domain/kernel/ids.ts';
import { reach } from '#domain/kernel/failpoint.ts';
import { deliverPage, type Delivered } from '#domain/notifications/deliver-page.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import type { PageInput, PageResult } from '#workflows/fan-out-event/messages.ts';

export interface NotificationDependencies {
  unitOfWork: UnitOfWork;
}

/** Recipients of one activity, and of one of its transactions. */
export const pageSize = 5_000;
const chunkSize = 2_500;

/**
 * Tells up to 5,000 recipients. The heartbeat carries how far it got, so that the attempt after a crash goes on
 * there; what the lost attempt had committed beyond it is dropped by the unique key.
 */
export async function deliverNotifications(
  { unitOfWork }: NotificationDependencies,
  { tenantId, eventId, after }: PageInput,
): Promise<PageResult> {
  const context = Context.current();
  let { next, delivered } = progressOf(context.info.heartbeatDetails) ?? { next: after, delivered: 0 };
  let considered = 0;
  do {
    const from: string = next ?? nilUuid;
    context.heartbeat({ next: from, delivered });
    const page: Delivered = await unitOfWork.inTenant(tenantId, (em) =>
      deliverPage(em, { tenantId, eventId, after: from, limit: chunkSize }),
    );
    reach('notify.after_commit');
    ({ next } = page);
    delivered += page.delivered;
    considered += chunkSize;
  } while (next !== null && considered < pageSize);
  return { next, delivered };
}

function progressOf(details: unknown): Delivered | null {
  return typeof details === 'object' && details !== null ? (details as Delivered) : null;
}
