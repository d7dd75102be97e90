import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { checkout } from './checkout.ts';

export interface Findings {
  ok: boolean;
  /** Shown in full when the step fails, and its lines also when it passes. */
  text: string;
}

/** A program of the checkout, or a function of ours. */
export type Step = { name: string } & ({ command: readonly string[] } | { run: () => Promise<Findings> });

/**
 * Runs the programs in order, and beside them our functions in order, and returns whether all passed; prints the
 * failed ones at the end.
 */
export async function runSteps(steps: readonly Step[]): Promise<boolean> {
  const failed = new Set<Step>();
  const began = Date.now();
  const runAll = async (lane: readonly Step[]) => {
    for (const step of lane) if (!(await report(step))) failed.add(step);
  };
  await Promise.all([
    runAll(steps.filter((step) => 'command' in step)),
    runAll(steps.filter((step) => 'run' in step)),
  ]);
  const names = steps.flatMap((step) => (failed.has(step) ? [step.name] : []));
  const verdict = names.length === 0 ? `all ${steps.length} checks passed` : `failed: ${names.join(', ')}`;
  process.stdout.write(`\n${verdict} (${seconds(began)})\n`);
  return names.length === 0;
}

async function report(step: Step): Promise<boolean> {
  const since = Date.now();
  process.stdout.write(`▶ ${step.name}\n`);
  const { ok, text } = await perform(step);
  const shown = ok && 'command' in step ? '' : text.trim();
  const lines = [...(shown === '' ? [] : [shown]), `${ok ? '✓' : '✗'} ${step.name} (${seconds(since)})`];
  process.stdout.write(`${lines.join('\n')}\n`);
  return ok;
}

async function perform(step: Step): Promise<Findings> {
  try {
    return 'run' in step ? await step.run() : await runCommand(step.command);
  } catch (error) {
    return { ok: false, text: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

function runCommand([program = '', ...args]: readonly string[]): Promise<Findings> {
  const path = [join(checkout, 'node_modules', '.bin'), process.env['PATH']].join(delimiter);
  const child = spawn(program, args, {
    cwd: checkout,
    env: { ...process.env, PATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  }
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ ok: false, text: error.message }));
    child.once('close', (code) => resolve({ ok: code === 0, text }));
  });
}

function seconds(since: number): string {
  return `${((Date.now() - since) / 1000).toFixed(1)} s`;
}
