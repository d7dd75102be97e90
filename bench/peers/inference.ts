import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';
import { builtinPackage, type ModelFiles } from '#adapters/embeddings/builtin-package.ts';
import { disableTelemetry } from '#adapters/embeddings/disable-telemetry.ts';
import infer from '#adapters/embeddings/inference-thread.ts';

/** The model alone, in one thread: no pool, no database, no batches. It has the nice value of the worker's processes. */
setPriority(15);
disableTelemetry();

interface Asked {
  files: ModelFiles;
  texts: string[];
}

console.log(JSON.stringify({ ready: true }));
for await (const line of createInterface({ input: process.stdin })) {
  const { files, texts } = JSON.parse(line) as Asked;
  const startedAt = performance.now();
  for (const text of texts) {
    const inference = await infer({ files, text, maxTokens: builtinPackage.maxTokens });
    if (!('vector' in inference)) throw new Error(JSON.stringify(inference));
  }
  console.log(JSON.stringify({ seconds: (performance.now() - startedAt) / 1_000 }));
}
process.exit();
