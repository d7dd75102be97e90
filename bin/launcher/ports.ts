import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, LaunchError } from './errors.ts';

export interface WantedPort {
  port: number;
  /** The service that needs it, for the message: "the gateway". */
  owner: string;
  /** The environment variable that changes it. */
  variable: string;
}

/** A killed process seems to be gone for a moment before its last threads give up its port. */
const releasedWithinMs = 1_000;

/** Refuses with one sentence when a port is not free on 127.0.0.1, and does not become so within a second. */
export async function requireFreePorts(wanted: readonly WantedPort[]): Promise<void> {
  const seen = new Map<number, WantedPort>();
  for (const want of wanted) {
    const twin = seen.get(want.port);
    if (twin) {
      throw new LaunchError(
        `Port ${want.port} is wanted by both ${twin.owner} (${twin.variable}) and ${want.owner} (${want.variable}): give one of them another.`,
      );
    }
    seen.set(want.port, want);
  }
  for (const { port, owner, variable } of wanted) {
    let problem = await tryListen(port);
    for (const until = Date.now() + releasedWithinMs; problem === 'EADDRINUSE' && Date.now() < until;) {
      await sleep(50);
      problem = await tryListen(port);
    }
    if (problem === 'EADDRINUSE') throw portTaken({ port, owner, variable });
    if (problem)
      throw new LaunchError(
        `Port ${port}, which ${owner} needs, cannot be opened (${problem}): choose another with ${variable}.`,
      );
  }
}

export function portTaken({ port, owner, variable }: WantedPort): LaunchError {
  return new LaunchError(
    `Port ${port}, which ${owner} needs, is taken: stop what uses it, or choose another with ${variable}.`,
  );
}

function tryListen(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(codeOf(error) ?? error.message));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

export async function isFree(port: number): Promise<boolean> {
  return (await tryListen(port)) === undefined;
}

/**
 * Below the range of Linux's outgoing connections, which could take a port before its server does; a Temporal
 * server accepts no higher ports.
 */
const SERVER_PORTS = [10_000, 32_768] as const;
const MOST_TRIES = 1_000;

/** A port that was free a moment ago. */
export async function findFreePort(): Promise<number> {
  let problem: string | undefined;
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const port = randomInt(...SERVER_PORTS);
    problem = await tryListen(port);
    if (problem === undefined) return port;
  }
  throw new LaunchError(`No port can be opened on 127.0.0.1 (${problem}).`);
}
