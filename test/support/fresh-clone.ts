import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findSystemTool } from '../../bin/launcher/executables.ts';
import { findTemporal, temporalCache } from '../../bin/launcher/find-temporal.ts';
import { claimPort } from './free-port.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
/** Four times the 30 s of a first start: the most that `slack()` allows. */
const readyWithinMs = 120_000;

/** A newcomer's machine: the committed files, installed, with Node, a shell and nothing else. */
export interface FreshClone {
  /** Runs `npm start`, with more variables, and resolves when its screen is complete. */
  start(more?: Record<string, string>): Promise<StartedClone>;
  /** A folder of its own, for data that one start alone uses. */
  folder(name: string): string;
  /** Removes committed files, so that the demo has fewer documents. */
  drop(names: readonly string[]): void;
  remove(): void;
}

export interface StartedClone {
  /** The two lines of the screen that can be pasted. */
  curlLines: string[];
  screen: string;
  /** Everything that was printed. */
  output(): string;
  /**
   * By Ctrl-C, whose signal reaches every foreground process, or by a signal to npm alone. Resolves when all
   * processes have ended.
   */
  stop(by?: 'ctrl-c' | 'signal to npm'): Promise<{ tookMs: number }>;
}

export async function freshClone(): Promise<FreshClone> {
  const root = mkdtempSync(join(tmpdir(), 'first-run-'));
  const clone = join(root, 'clone');
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', checkout, clone], { stdio: 'pipe' });
  symlinkSync(join(checkout, 'node_modules'), join(clone, 'node_modules'));
  const env = await bareEnvironment(root);
  return {
    start: (more = {}) => start(clone, { ...env, ...more }),
    folder: (name) => join(root, name),
    drop: (names) => names.forEach((name) => rmSync(join(clone, name), { recursive: true })),
    remove: () => rmSync(root, { recursive: true, force: true }),
  };
}

async function bareEnvironment(root: string): Promise<Record<string, string>> {
  const [bin, home, cache] = ['bin', 'home', 'cache'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  const temporalFolder = temporalCache({ XDG_CACHE_HOME: cache });
  for (const folder of [bin, home, temporalFolder]) mkdirSync(folder, { recursive: true });
  symlinkSync(process.execPath, join(bin, 'node'));
  for (const tool of ['npm', 'sh']) symlinkSync(findSystemTool(tool)!, join(bin, tool));
  const temporal = await findTemporal({ cacheDir: temporalCache(process.env), env: process.env });
  symlinkSync(temporal.path, join(temporalFolder, 'temporal'));
  const ports: Record<string, string> = {};
  for (const name of ['PORT', 'WORKER_PORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT', 'POSTGRES_PORT'])
    ports[name] = String(await claimPort());
  return { PATH: bin, HOME: home, XDG_CACHE_HOME: cache, ...ports };
}

async function start(clone: string, env: Record<string, string>): Promise<StartedClone> {
  const npm = spawn('npm', ['start'], {
    cwd: clone,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [npm.stdout, npm.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const exited = once(npm, 'close') as Promise<[number | null]>;
  try {
    await screenOf(npm, () => printed);
  } catch (error) {
    interrupt(npm);
    await exited;
    throw error;
  }
  const screen = printed.slice(printed.indexOf('Ready after'));
  return {
    screen,
    curlLines: screen.split('\n').filter((line) => line.startsWith('curl ')),
    output: () => printed,
    stop: async (by = 'ctrl-c') => {
      const since = Date.now();
      if (by === 'ctrl-c') interrupt(npm);
      else npm.kill('SIGTERM');
      await exited;
      return { tookMs: Date.now() - since };
    },
  };
}

function interrupt(npm: ChildProcess): void {
  try {
    process.kill(-npm.pid!, 'SIGINT');
  } catch {
    // It has ended already.
  }
}

async function screenOf(npm: ChildProcess, printed: () => string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => reject(new Error(`not ready in time:\n${printed()}`)), readyWithinMs);
  npm.once('error', reject);
  npm.once('close', (code) => reject(new Error(`ended with ${code}:\n${printed()}`)));
  npm.stdout!.on('data', () => {
    if (printed().includes('Ctrl-C stops everything')) resolve();
  });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
  }
}
