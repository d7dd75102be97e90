import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../bin/platform.ts', import.meta.url));

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `bin/platform` as an operator does: its own process, with nothing of this one's environment. */
export function runPlatform(args: string[], env: Record<string, string> = {}): Promise<Ran> {
  return runScript(program, args, env);
}

/** Any script of the checkout, in the same way. */
export async function runScript(file: string, args: string[], env: Record<string, string>): Promise<Ran> {
  const child = spawn(process.execPath, [file, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: child.exitCode, stdout, stderr };
}

export interface Terminal {
  /** Waits until the screen has shown it; its text. */
  shows(what: RegExp): Promise<string>;
  type(keys: string): void;
  /** The exit code. */
  exited: Promise<number | null>;
}

const maxWaitMs = 20_000;

/** Runs it as a person does, at a terminal (Linux). */
export function openTerminal(args: string[], env: Record<string, string>): Terminal {
  const command = [process.execPath, program, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (shown: string) => (screen += shown));
  const exited = once(child, 'close').then(() => child.exitCode);
  return {
    shows: async (what) => {
      for (const deadline = Date.now() + maxWaitMs; ; await sleep(20)) {
        const found = what.exec(screen);
        if (found !== null) return found[0];
        if (Date.now() > deadline) {
          child.kill();
          throw new Error(`The terminal shows: ${screen}`);
        }
      }
    },
    type: (keys) => void child.stdin.write(keys),
    exited,
  };
}
