import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { inject } from 'vitest';

const checkout = fileURLToPath(new URL('../../', import.meta.url));

/** The short form of a bench, as its user runs it: what it wrote as JSON, and how many lines it judged for people. */
export async function runQuickly(
  bench: 'events' | 'ingest' | 'notifications' | 'responses' | 'sync' | 'upkeep',
): Promise<{ report: unknown; judged: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'platform-bench-test-'));
  try {
    const json = join(folder, 'lines.json');
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--disable-warning=FSTDEP023', `bench/${bench}.ts`, '--quick', '--json', json],
      { cwd: checkout, env: { ...process.env, WORKFLOW_BUNDLE: inject('workflowBundle') } },
    );
    return {
      report: JSON.parse(readFileSync(json, 'utf8')) as unknown,
      judged: stdout.split('\n').filter((row) => /(met|MISSED)$/.test(row)).length,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
