import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { inject } from 'vitest';
import type { Failpoint } from '#domain/foundation/kernel/failpoint.ts';
import { memorySettings } from '../../bin/launcher/memory-settings.ts';
import { claimPort } from './free-port.ts';
import type { TestDatabase } from './database.ts';
import { raisedLimits } from './raised-limits.ts';
import { slack } from './slack.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
const armOnMessage = fileURLToPath(new URL('arm-on-message.ts', import.meta.url));

/**
 * Keys of every test deployment: the same master key, so that keys minted in a test are valid in its
 * processes.
 */
export const masterKey = Buffer.alloc(32, 7).toString('base64');

export interface StackProcess {
  readonly role: 'gateway' | 'worker';
  readonly port: number;
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Its log file. */
  readonly log: string;
  readonly child: ChildProcess;
  /**
   * Resolves when it reports readiness.
   * @throws when it ends first
   */
  readonly ready: Promise<void>;
  /** Resolves with the signal from its exit status, null for an exit of its own. */
  readonly exited: Promise<NodeJS.Signals | null>;
  /**
   * From now on it dies when it reaches the failpoint for the `skip + 1`-th time. Only where the stack is
   * `armable`.
   */
  arm(failpoint: Failpoint, skip?: number): Promise<void>;
  /** SIGKILL; resolves with the signal from the exit status. */
  kill(): Promise<NodeJS.Signals | null>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

export interface Stack {
  namespace: string;
  temporal: Client;
  gateways: StackProcess[];
  workers: StackProcess[];
  /** Starts one more, ready when it resolves. `env` overrides the stack's. */
  start(role: StackProcess['role'], env?: Record<string, string>): Promise<StackProcess>;
  /** The same without waiting for readiness. */
  launch(role: StackProcess['role'], env?: Record<string, string>): Promise<StackProcess>;
  stop(): Promise<void>;
}

export interface StackOptions {
  database: Pick<TestDatabase, 'url' | 'purgeUrl'> & Partial<Pick<TestDatabase, 'verifierUrl'>>;
  gateways?: number;
  workers?: number;
  env?: Record<string, string>;
  /** Failpoints are armed in a running process, which saves starting a process that is armed from its beginning. */
  armable?: boolean;
  /** A server other than the run's own. */
  temporalAddress?: string;
  /** An existing one; without it the stack creates its own. */
  namespace?: string;
}

/** Gateways and workers as their own processes, in a Temporal namespace of their own. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const address = options.temporalAddress ?? inject('temporal').address;
  const connection = await Connection.connect({ address });
  const namespace = options.namespace ?? (await createNamespace(connection));
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: process.env.HOME ?? '',
    DATABASE_URL: options.database.url,
    DATABASE_PURGE_URL: options.database.purgeUrl,
    ...(options.database.verifierUrl !== undefined && {
      DATABASE_VERIFIER_URL: options.database.verifierUrl,
    }),
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    MASTER_KEY: masterKey,
    SWEEP_INTERVAL_SECONDS: '5',
    // No weights unless a test gives some: each process would load them.
    EMBEDDING_MODEL_PATH: import.meta.dirname,
    DRAIN_SECONDS: '2',
    EXIT_WITH_PARENT: '1',
    ...memorySettings,
    WORKFLOW_BUNDLE: inject('workflowBundle'),
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
    ...raisedLimits,
    ...options.env,
  };
  const stack: Stack = {
    namespace,
    temporal: new Client({ connection, namespace }),
    gateways: [],
    workers: [],
    start: async (role, extra) => {
      const started = await stack.launch(role, extra);
      await started.ready;
      return started;
    },
    launch: async (role, extra = {}) => {
      const launched = await launchProcess(role, { ...env, ...extra }, options.armable);
      (role === 'gateway' ? stack.gateways : stack.workers).push(launched);
      return launched;
    },
    stop: async () => {
      await Promise.all([...stack.gateways, ...stack.workers].map((running) => running.stop()));
      await connection.close();
    },
  };
  try {
    await Promise.all([
      ...Array.from({ length: options.workers ?? 1 }, () => stack.start('worker')),
      ...Array.from({ length: options.gateways ?? 1 }, () => stack.start('gateway')),
    ]);
    return stack;
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

async function createNamespace(connection: Connection): Promise<string> {
  const namespace = `test-${randomBytes(6).toString('hex')}`;
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as unknown as Long },
  });
  for (let attempt = 0; ; attempt += 1) {
    try {
      await connection.operatorService.addSearchAttributes({
        namespace,
        searchAttributes: { TenantId: 2, SpaceId: 2 },
      });
      return namespace;
    } catch (error) {
      if (attempt > 100) {
        throw error;
      }
      await sleep(100);
    }
  }
}

type Long = NonNullable<
  NonNullable<
    Parameters<Connection['workflowService']['registerNamespace']>[0]['workflowExecutionRetentionPeriod']
  >['seconds']
>;

async function launchProcess(
  role: StackProcess['role'],
  env: Record<string, string>,
  armable = false,
): Promise<StackProcess> {
  const port = await claimPort();
  const entry = role === 'gateway' ? 'api/main.ts' : 'temporal/worker.ts';
  const portVariable = role === 'gateway' ? 'PORT' : 'WORKER_PORT';
  // Its log is the process's own file: reading it here would cost the tests processor time for each line.
  const log = `${inject('logFolder')}/${role}-${port}-${randomBytes(3).toString('hex')}.log`;
  const opened = openSync(log, 'a');
  const flags = ['--disable-warning=FSTDEP023', ...(armable ? ['--import', armOnMessage] : [])];
  const child = spawn(process.execPath, [...flags, entry], {
    cwd: checkout,
    env: { ...env, [portVariable]: String(port) },
    // A session of its own, as under `npm start`: Linux divides the processors among sessions first.
    detached: true,
    stdio: ['pipe', opened, opened, ...(armable ? (['ipc'] as const) : [])],
  });
  closeSync(opened);
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const url = `http://127.0.0.1:${port}`;
  const ready = waitUntilReady(url, child);
  // Rejects for a waiting caller; a process that is meant to die has none.
  ready.catch(() => undefined);
  return {
    role,
    port,
    url,
    log,
    child,
    ready,
    exited: exited.then(([, signal]) => signal),
    arm: async (failpoint, skip = 0) => {
      const armed = once(child, 'message');
      child.send({ failpoint, skip }, () => undefined);
      const ended = exited.then(([code, signal]) => {
        throw new Error(`The process ended before it was armed (${signal ?? code}).`);
      });
      await Promise.race([armed, ended]);
    },
    kill: async () => {
      child.kill('SIGKILL');
      return (await exited)[1];
    },
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM');
      }
      return (await exited)[0];
    },
  };
}

async function waitUntilReady(url: string, child: ChildProcess): Promise<void> {
  const until = performance.now() + 30_000 * slack();
  while (performance.now() < until) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`The process ended before it was ready (${child.exitCode ?? child.signalCode}).`);
    }
    const ready = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ready) {
      return;
    }
    await sleep(50);
  }
  throw new Error(`${url} was not ready in time.`);
}
