import { setTimeout as sleep } from 'node:timers/promises';
import type { Stack, StackProcess } from './stack.ts';

/**
 * The worker that runs the turn of a response.
 * @throws when none has it within five seconds
 */
export async function holderOf(
  { temporal, workers }: Stack,
  response: { tenantId: string; responseId: string },
): Promise<StackProcess> {
  const handle = temporal.workflow.getHandle(`response/${response.tenantId}/${response.responseId}`);
  for (const deadline = Date.now() + 5_000; ; await sleep(20)) {
    const { raw } = await handle.describe();
    const pid = Number.parseInt(raw.pendingActivities?.[0]?.lastWorkerIdentity ?? '', 10);
    const holder = workers.find(({ child }) => child.pid === pid);
    if (holder !== undefined) return holder;
    if (Date.now() > deadline) throw new Error(`No worker has ${response.responseId}.`);
  }
}
