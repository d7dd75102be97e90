import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { quiet } from './quiet.ts';

const checkout = fileURLToPath(new URL('../../', import.meta.url));

/** A change to one file below `workflows/`: each text must stand in it exactly once. */
export interface Alteration {
  file: string;
  replace: [from: string, to: string][];
}

/** The bundle of today's workflows with a change that a deployment must not make. */
export async function bundleAltered({ file, replace }: Alteration): Promise<WorkflowBundleWithSourceMap> {
  const folder = mkdtempSync(join(tmpdir(), 'platform-bundle-'));
  try {
    cpSync(join(checkout, 'workflows'), join(folder, 'workflows'), { recursive: true });
    for (const name of ['node_modules', 'package.json', 'domain']) {
      symlinkSync(join(checkout, name), join(folder, name));
    }
    const path = join(folder, file);
    const altered = replace.reduce(
      (text, [from, to]) => {
        const parts = text.split(from);
        if (parts.length !== 2) {
          throw new Error(`${file} holds ${parts.length - 1} times: ${from}`);
        }
        return parts.join(to);
      },
      readFileSync(path, 'utf8'),
    );
    writeFileSync(path, altered);
    return await bundleWorkflowCode({ workflowsPath: join(folder, 'workflows/index.ts'), logger: quiet });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
