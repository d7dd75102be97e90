import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Platform } from './platform-client.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));
const clientScript = 'test/conformance/client.ts';
const knownPorts = fileURLToPath(new URL('known-ports.ts', import.meta.url));
const suitePackage = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json');
const suite = join(dirname(suitePackage), 'dist', 'index.js');

/** Of the client within one scenario; the suite's own part takes a second more. */
const clientMs = 60_000;

interface Ran {
  passed: boolean;
  output: string;
}

function run(options: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  return new Promise((done) => {
    const given = { cwd: checkout, env: { ...process.env, ...env }, timeout: clientMs + 15_000 };
    execFile(process.execPath, [suite, ...options], given, (error, stdout, stderr) =>
      done({ passed: error === null, output: stdout + stderr }),
    );
  });
}

/** The client scenarios that a revision requires, and those that the suite runs without scoring them. */
export async function scenariosOf(revision: string): Promise<{ scored: string[]; unscored: string[] }> {
  const { output } = await run(['list', '--requirements', revision]);
  const [, scored = '', unscored = ''] =
    /^Client scenarios[^\n]*\n([^]*?)\n\n[^\n]*never scored:\n([^]*)$/m.exec(output) ?? [];
  return {
    scored: [...scored.matchAll(/^ {2}- (\S+)$/gm)].map(([, name]) => name!),
    unscored: [...unscored.matchAll(/^ {4}- (\S+) \[client\]$/gm)].map(([, name]) => name!),
  };
}

/**
 * Runs one scenario against the product. Warnings of the suite count as failures, and so does a scenario that it skips.
 * @returns what the suite printed where the scenario did not pass; null: it passed
 */
export async function failureOf(
  scenario: string,
  { revision, platform, ports }: { revision: string; platform: Platform; ports: readonly number[] },
): Promise<string | null> {
  const options = {
    scenario,
    'spec-version': revision,
    command: `"${process.execPath}" ${clientScript}`,
    timeout: String(clientMs),
  };
  const given = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  // Extensions belong to no revision: they run on its wire when they are forced to.
  const { passed, output } = await run(['client', ...given, '--force'], {
    NODE_OPTIONS: `--import=${knownPorts}`,
    CONFORMANCE_PORTS: ports.join(','),
    PLATFORM: JSON.stringify(platform),
  });
  return passed && output.includes('OVERALL: PASSED') ? null : output;
}
