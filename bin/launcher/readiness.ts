import { setTimeout as sleep } from 'node:timers/promises';
import { instanceHeader } from '#domain/foundation/kernel/instance-header.ts';

/**
 * Polls a readiness address until the child with this instance id answers with success: another server may have the
 * port.
 */
export async function waitUntilReady(
  { url, instanceId }: { url: string; instanceId: string },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    if ((await answering(url, signal)) === instanceId) return;
    await sleep(100, undefined, { signal });
  }
}

/** @returns the instance id of the server that answers with success, if it has any */
async function answering(url: string, signal: AbortSignal): Promise<string | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(2000)]) });
    await response.body?.cancel();
    return response.ok ? response.headers.get(instanceHeader) : null;
  } catch {
    return null;
  }
}
