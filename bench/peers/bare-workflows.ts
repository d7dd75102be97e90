import { proxyActivities } from '@temporalio/workflow';
import type * as activities from './bare-activities.ts';

const { turn, call } = proxyActivities<typeof activities>({ startToCloseTimeout: '1m' });

/** As many activities as a response with so many tool rounds, and nothing else. */
export async function bareLoop(rounds: number): Promise<void> {
  await turn(0);
  for (let round = 1; round <= rounds; round += 1) {
    await call(round);
    await turn(round);
  }
}
