import { setTimeout as sleep } from 'node:timers/promises';
import type { StackProcess } from '../../support/stack.ts';
import type { Fleet } from '../fleet.ts';
import { until } from '../knowledge-rows.ts';
import type { ConnectionDeployment } from './deployment.ts';
import type { ConnectionStrike } from './plan.ts';

export interface ConnectionStruck {
  kind: ConnectionStrike;
  /** From the exit status; null where nothing is killed. */
  signal: string | null;
  /** Milliseconds of `performance.now()`. */
  at: number;
  /** Answers of the token endpoint that were under way. */
  inFlight: number;
}

const searchMs = 90_000;
const awayMs = 3_000;

/** Waits until tokens are issued, by a refresh or, for a gateway, for a code, and strikes. */
export async function strikeConnections(
  { authorization, postgres, relay }: ConnectionDeployment,
  fleet: Fleet,
  { kind, random, pauseMs }: { kind: ConnectionStrike; random: () => number; pauseMs: number },
): Promise<ConnectionStruck> {
  if (kind === 'worker' || kind === 'gateway') await fleet.untilReady(kind, 2);
  const grantType = kind === 'gateway' ? 'authorization_code' : 'refresh_token';
  let seen = authorization.tokenRequests.length;
  await until(
    'No token was issued',
    searchMs,
    async () => {
      const news = authorization.tokenRequests.slice(seen);
      seen += news.length;
      return news.some((each) => each.grantType === grantType && each.error === null) ? true : null;
    },
    5,
  );
  await sleep(random() * pauseMs);
  const at = performance.now();
  const { tokenRequests, tokenAnswerDelayMs } = authorization;
  const inFlight = tokenRequests.filter((each) => at - each.at < tokenAnswerDelayMs).length;
  const struck = { kind, at, inFlight };
  switch (kind) {
    case 'silence':
      relay.silence({ awayMs });
      return { ...struck, signal: null };
    case 'postgres':
      return { ...struck, signal: (await postgres.killAndRestart()).signal };
    default:
      return { ...struck, signal: await fleet.kill(pick(fleet.ready(kind), random)) };
  }
}

function pick(list: readonly StackProcess[], random: () => number): StackProcess {
  return list[Math.floor(random() * list.length)]!;
}
