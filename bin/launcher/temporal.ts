import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { LaunchError } from './errors.ts';
import { hostedPid, readLines, spawnHosted, type HostedCommand } from './hosted.ts';
import { findFreePort } from './ports.ts';
import { sendSignal } from './processes.ts';

export interface TemporalOptions {
  binary: string;
  /** Both on 127.0.0.1; without a port a free one is taken, without a UI port there is no UI. */
  port?: number;
  uiPort?: number;
  /** Keeps everything over restarts; without it everything is in memory. */
  dbFile?: string;
  /** Dynamic configuration beside the platform's own. */
  settings?: Record<string, string | number | boolean>;
  /** Where the running server is recorded, so that the next start can end a leftover server. */
  recordFile?: string;
  log?: (line: string) => void;
  signal?: AbortSignal;
}

export interface PreparedTemporal {
  address: string;
  uiUrl: string | undefined;
  /** Starts the server below a host that stops it when this process ends. */
  spawn(): ChildProcess;
  /** Whether this line of the server says that it listens: the port may be that of another start by now. */
  says(line: string): boolean;
}

export interface RunningTemporal {
  address: string;
  uiUrl: string | undefined;
  /** The server itself. */
  pid: number;
  stop(): Promise<void>;
  /** SIGKILL to the server. */
  kill(): void;
}

export const NAMESPACE = 'default';
const SEARCH_ATTRIBUTES = ['TenantId', 'SpaceId'] as const;
const STOP_TIMEOUT_MS = 1200;

// At the default of 20 polls a second every dispatch waits for a 50 ms tick.
export const DYNAMIC_CONFIG = {
  'history.transferProcessorMaxPollRPS': 2000,
  'history.timerProcessorMaxPollRPS': 2000,
  'system.enableActivityEagerExecution': true,
  'matching.enableFairness': true,
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
};

/**
 * Without new namespaces and Nexus endpoints at run time: polling for them, long polls of the server's own workers and
 * its metrics, which it sums up every second, are most of its cost while idle.
 */
export const SLOW_CLOCKS = {
  'system.namespaceCacheRefreshInterval': '"30s"',
  'matching.ephemeralDataUpdateInterval': '"1m"',
  'matching.backlogMetricsEmitInterval': '"5m"',
  'matching.nexusEndpointsRefreshInterval': '"5m"',
  'worker.ScannerMaxConcurrentActivityTaskPollers': 1,
  'worker.ScannerMaxConcurrentWorkflowTaskPollers': 2,
  'worker.ParentCloseMaxConcurrentActivityTaskPollers': 1,
  'worker.ParentCloseMaxConcurrentWorkflowTaskPollers': 2,
  'metrics.breakdownByTaskQueue': false,
  'metrics.breakdownByPartition': false,
};

/**
 * SQLite would make, synchronise and delete a journal beside the file in every transaction. Its write-ahead log holds
 * what is committed at least as safely, also when the machine fails, with one synchronisation.
 */
const SQLITE_PRAGMAS = ['--sqlite-pragma', 'journal_mode=wal', '--sqlite-pragma', 'synchronous=full'];

/**
 * A collection of its memory takes a quarter of the processors and whatever is idle of them, when a response may need
 * one: the heap may grow to five times the live objects instead of twice, up to a gigabyte.
 */
const GO_MEMORY = { GOGC: '400', GOMEMLIMIT: '1GiB' };

export async function prepareTemporal(options: TemporalOptions): Promise<PreparedTemporal> {
  const port = options.port ?? (await findFreePort());
  const { uiPort, dbFile, recordFile, settings } = options;
  const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--log-level', 'error'];
  args.push(...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort)]));
  if (dbFile !== undefined) args.push('--db-filename', dbFile, ...SQLITE_PRAGMAS);
  for (const name of SEARCH_ATTRIBUTES) args.push('--search-attribute', `${name}=Keyword`);
  for (const [key, value] of Object.entries({ ...DYNAMIC_CONFIG, ...settings }))
    args.push('--dynamic-config-value', `${key}=${String(value)}`);
  const hosted: HostedCommand = {
    command: options.binary,
    args,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...GO_MEMORY },
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
    ...(recordFile === undefined ? {} : { recordFile }),
  };
  return {
    address: `127.0.0.1:${port}`,
    uiUrl: uiPort === undefined ? undefined : `http://127.0.0.1:${uiPort}`,
    spawn: () => spawnHosted(hosted),
    says: (line) => /^(?:Temporal )?Server:\s/.test(line) && line.trimEnd().endsWith(`:${port}`),
  };
}

/** Waits until the namespace is there with our search attributes. */
export async function waitForTemporal(address: string, signal: AbortSignal): Promise<void> {
  // Loading the client takes a sixth of a second: it happens while the server starts.
  const { Connection } = await import('@temporalio/client');
  for (;;) {
    signal.throwIfAborted();
    const connection = Connection.lazy({ address, connectTimeout: 1000 });
    try {
      const ready = await connection.withDeadline(Date.now() + 1000, async () => {
        const { customAttributes } = await connection.operatorService.listSearchAttributes({
          namespace: NAMESPACE,
        });
        return SEARCH_ATTRIBUTES.every((name) => customAttributes && name in customAttributes);
      });
      if (ready) return;
    } catch {
      // Not ready yet; the caller's signal limits the wait.
    } finally {
      await connection.close();
    }
    await sleep(50, undefined, { signal });
  }
}

/** Prepares an external server: waits for the namespace and adds our search attributes. */
export async function adoptTemporal(address: string, signal: AbortSignal): Promise<void> {
  const { Connection } = await import('@temporalio/client');
  const connection = Connection.lazy({ address, connectTimeout: 5000 });
  try {
    await connection.withDeadline(Date.now() + 5000, async () => {
      const { customAttributes } = await connection.operatorService.listSearchAttributes({
        namespace: NAMESPACE,
      });
      const missing = SEARCH_ATTRIBUTES.filter((name) => !customAttributes || !(name in customAttributes));
      if (missing.length === 0) return;
      const keyword = 2;
      const searchAttributes = Object.fromEntries(missing.map((name) => [name, keyword]));
      await connection.operatorService.addSearchAttributes({ namespace: NAMESPACE, searchAttributes });
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new LaunchError(
      `The Temporal server at ${address} (TEMPORAL_ADDRESS) does not offer the namespace "${NAMESPACE}" with the search attributes TenantId and SpaceId: check the address, or unset it to have a server started here.`,
      error instanceof Error ? [error.message] : [],
    );
  } finally {
    await connection.close();
  }
}

/** A development server that answers; it does not restart by itself. */
export async function startTemporal(options: TemporalOptions): Promise<RunningTemporal> {
  const prepared = await prepareTemporal(options);
  const host = prepared.spawn();
  const tail: string[] = [];
  readLines(host, (line) => {
    tail.push(line);
    options.log?.(line);
  });
  const ended = new AbortController();
  const gone = new Promise<void>((resolve) => host.once('exit', () => resolve()));
  void gone.then(() =>
    ended.abort(new LaunchError('The Temporal server ended while starting.', tail.slice(-10))),
  );
  const signal = AbortSignal.any([
    ended.signal,
    AbortSignal.timeout(60_000),
    ...(options.signal ? [options.signal] : []),
  ]);
  async function stop(): Promise<void> {
    host.kill('SIGTERM');
    await gone;
  }
  try {
    const pid = await hostedPid(host);
    await waitForTemporal(prepared.address, signal);
    return {
      address: prepared.address,
      uiUrl: prepared.uiUrl,
      pid,
      stop,
      kill: () => sendSignal(pid, 'SIGKILL'),
    };
  } catch (error) {
    await stop();
    throw signal.aborted ? signal.reason : error;
  }
}
