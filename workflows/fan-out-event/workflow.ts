import { continueAsNew, proxyActivities, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { fanOut } from '../shared/activity-options.ts';
import type { FanOutEventInput, FanOutEventResult } from './messages.ts';

const { deliverNotifications } = proxyActivities<Activities>(fanOut);

/** Tells an event to everybody whom its rule names, page after page. */
export async function fanOutEvent(input: FanOutEventInput): Promise<FanOutEventResult> {
  const { tenantId, eventId, eventType } = input;
  let after = input.after ?? null;
  let delivered = input.delivered ?? 0;
  for (let page = 1; ; page += 1) {
    setCurrentDetails(`${eventType}: ${delivered} told`);
    const result = await deliverNotifications.executeWithOptions({ summary: `page ${page}` }, [
      { tenantId, eventId, after },
    ]);
    delivered += result.delivered;
    if (result.next === null) {
      setCurrentDetails(`${eventType}: all ${delivered} told`);
      return { delivered };
    }
    after = result.next;
    if (workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof fanOutEvent>({ ...input, after, delivered });
    }
  }
}
