import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { ContendedPace } from '#domain/foundation/kernel/contended-pace.ts';
import { retryLater } from '../failures.ts';
import { interruption } from '../interruption.ts';
import { keepAlive } from '../keep-alive.ts';

/** A longer wait returns the worker's slot to Temporal: its heartbeats would cost more. */
const maxInPlaceWaitMs = 2_000;

/**
 * Waits until the tenant may begin another turn or call in this worker. Each costs Temporal, PostgreSQL and the
 * worker about the same, so this pace divides all three among tenants.
 * @throws ApplicationFailure `tenant_pace` with the delay of the next attempt, which then begins at once
 */
export async function waitForPace(pace: ContendedPace, tenantId: string): Promise<void> {
  const { info, heartbeat } = Context.current();
  if (info.heartbeatDetails === turnOf(info.attempt)) {
    return;
  }
  const ms = pace.take(tenantId);
  if (ms > maxInPlaceWaitMs) {
    heartbeat(turnOf(info.attempt + 1));
    throw retryLater('tenant_pace', ms);
  }
  if (ms > 0) {
    await keepAlive(async ({ signal }) => {
      await sleep(ms, undefined, { signal }).catch(() => {
        throw interruption();
      });
    });
  }
}

/** Heartbeat details of an attempt that returned its slot: they name the attempt whose wait is over. */
const turnOf = (attempt: number): string => `turn of attempt ${attempt}`;
