import { setTimeout as sleep } from 'node:timers/promises';

/** Polls a readiness address until it answers with success. */
export async function waitUntilReady(url: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    if (await answers(url, signal)) return;
    await sleep(100, undefined, { signal });
  }
}

async function answers(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(2000)]) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
