import { proxyActivities } from '@temporalio/workflow';
import { modelTurn, toolCall } from '#workflows/shared/activity-options.ts';
import type * as activities from './bare-activities.ts';

const { turn } = proxyActivities<typeof activities>(modelTurn);
const { call } = proxyActivities<typeof activities>(toolCall);

/** As many activities as a response with so many tool rounds, with the same timeouts and retries, and nothing else. */
export async function bareLoop(rounds: number): Promise<void> {
  await turn(0);
  for (let round = 1; round <= rounds; round += 1) {
    await call(round);
    await turn(round);
  }
}
