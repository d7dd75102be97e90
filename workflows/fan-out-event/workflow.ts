import { continueAsNew, proxyActivities, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { fanOut } from '../shared/activity-options.ts';
import type { FanOutEventInput, FanOutEventResult } from './messages.ts';

const { deliverNotifications } = proxyActivities<Activities>(fanOut);

/** Notifies all recipients of an event by its rule, in turns that leave room for other work of the queue. */
export async function fanOutEvent(input: FanOutEventInput): Promise<FanOutEventResult> {
  const { tenantId, eventId, eventType } = input;
  let after = input.after ?? null;
  let delivered = input.delivered ?? 0;
  for (let turn = 1; ; turn += 1) {
    setCurrentDetails(`${eventType}: ${delivered} notified`);
    const result = await deliverNotifications.executeWithOptions({ summary: `turn ${turn}` }, [
      { tenantId, eventId, after },
    ]);
    delivered += result.delivered;
    if (result.next === null) {
      setCurrentDetails(`${eventType}: all recipients notified`);
      return { status: 'completed', reason: null, delivered };
    }
    after = result.next;
    if (workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof fanOutEvent>({ ...input, after, delivered });
    }
  }
}
