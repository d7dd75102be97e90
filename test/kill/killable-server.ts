import { setTimeout as sleep } from 'node:timers/promises';

interface Running {
  pid: number;
  kill(): void;
  stop(): Promise<void>;
}

export interface KillableServer<T extends Running> {
  readonly current: T;
  /** SIGKILL, then a new one in the same place; returns the signal from the exit status. */
  killAndRestart(meanwhile?: () => Promise<void> | void): Promise<{ pid: number; signal: string | null }>;
  stop(): Promise<void>;
}

const exitLine = /^ended by (SIG[A-Z]+)$/;
const restartAttempts = 40;

/** A server that is killed and comes back on the same port and files. `start` logs the host's lines. */
export async function startKillable<T extends Running>(
  start: (log: (line: string) => void) => Promise<T>,
  log: (line: string) => void,
): Promise<KillableServer<T>> {
  let onExit: (signal: string) => void = () => undefined;
  const watch = (line: string) => {
    const match = exitLine.exec(line);
    if (match?.[1] !== undefined) onExit(match[1]);
    log(line);
  };
  let current = await start(watch);
  return {
    get current() {
      return current;
    },
    async killAndRestart(meanwhile = () => undefined) {
      const { pid } = current;
      const exited = new Promise<string>((resolve) => {
        onExit = resolve;
      });
      current.kill();
      const signal = await Promise.race([exited, sleep(10_000).then(() => null)]);
      await meanwhile();
      for (let attempt = 1; ; attempt += 1) {
        try {
          current = await start(watch);
          return { pid, signal };
        } catch (error) {
          // Resources held by the killed server's children are released within moments.
          if (attempt === restartAttempts) throw error;
          await sleep(250);
        }
      }
    },
    stop: () => current.stop(),
  };
}
