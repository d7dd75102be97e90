import { setTimeout as sleep } from 'node:timers/promises';
import { removeCallSessions } from '#domain/responses/calls/call-sessions.ts';
import type { ServerCallDependencies } from './call-server.ts';

/** For the end of a response, which no client waits for any more. */
const patienceMs = 2_000;

/**
 * Ends the sessions at tool servers that the calls of a response shared. Best effort: other sessions expire at their
 * server.
 */
export async function endSessions(
  { unitOfWork, secrets, toolServers }: ServerCallDependencies,
  key: { tenantId: string; responseId: string },
): Promise<void> {
  const end = async () => {
    const ending = await unitOfWork.inTenant(key.tenantId, (em) => removeCallSessions({ em, secrets }, key));
    await Promise.all(ending.map(({ server, session }) => toolServers.endSession(server, session)));
  };
  await Promise.race([end().catch(() => undefined), sleep(patienceMs, undefined, { ref: false })]);
}
