import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { once } from 'node:events';
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
