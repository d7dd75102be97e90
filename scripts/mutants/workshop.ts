import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { checkout, listFiles } from '../check/checkout.ts';
import type { Defect } from './defect.ts';
import { replaceOnce } from './replace-once.ts';

/** The result of a test run; a run that never began has no tests. */
export interface Verdict {
  passed: number;
  /** Full names. */
  failed: string[];
  /** The printed output, for diagnosis. */
  output: string;
}

/** A copy of the sources in which defects are applied; the checkout itself is never changed. */
export interface Workshop {
  run(tests: readonly string[]): Promise<Verdict>;
  /** Runs the defect's own test with the defect in place, then reverts it. */
  runWith(defect: Defect): Promise<Verdict>;
  close(): Promise<void>;
}

export async function openWorkshop(): Promise<Workshop> {
  const folder = await mkdtemp(join(tmpdir(), 'platform-mutants-'));
  for (const path of await listFiles()) {
    await cp(join(checkout, path), join(folder, path));
  }
  await symlink(join(checkout, 'node_modules'), join(folder, 'node_modules'));
  const running = new AbortController();
  const run = (tests: readonly string[]) => runTests(folder, tests, running.signal);
  return {
    run,
    runWith: async ({ file, replace, test }) => {
      const path = join(folder, file);
      const sound = await readFile(path, 'utf8');
      await writeFile(path, replaceOnce(sound, replace));
      try {
        return await run([test]);
      } finally {
        await writeFile(path, sound);
      }
    },
    close: async () => {
      running.abort();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A defect may make each test of a file wait; without one none takes as long. */
const maxTestMs = 90_000;
/** A defect may make its test endless; it then counts as not caught. */
const maxRunMs = 600_000;
/** Added for each file: without a defect, more than a hundred files run at once. */
const moreMsPerFile = 10_000;

interface Report {
  testResults: { assertionResults: { fullName: string; status: string }[] }[];
}

async function runTests(folder: string, tests: readonly string[], signal: AbortSignal): Promise<Verdict> {
  const reportPath = join(folder, 'mutant-report.json');
  await rm(reportPath, { force: true });
  const vitest = join(folder, 'node_modules/vitest/vitest.mjs');
  const args = [
    vitest,
    'run',
    ...tests,
    `--testTimeout=${maxTestMs}`,
    '--reporter=json',
    `--outputFile=${reportPath}`,
  ];
  const child = spawn(process.execPath, args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
    timeout: maxRunMs + tests.length * moreMsPerFile,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  }
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
  const text = await readFile(reportPath, 'utf8').catch(() => '{"testResults":[]}');
  const results = (JSON.parse(text) as Report).testResults.flatMap((file) => file.assertionResults);
  return {
    passed: results.filter(({ status }) => status === 'passed').length,
    failed: results.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName),
    output,
  };
}
