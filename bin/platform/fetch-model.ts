import { stat } from 'node:fs/promises';
import { modelFilesSource } from '#adapters/embeddings/create-builtin-model.ts';
import { builtinPackage } from '#adapters/embeddings/builtin-package.ts';
import { modelFiles } from '#adapters/embeddings/model-files.ts';
import { fields } from './print.ts';

export interface FetchModelOptions {
  json?: boolean;
}

/** Fetches and verifies the builtin embedding model, so that a process without that network finds it in the cache. */
export async function fetchModel({ json }: FetchModelOptions): Promise<void> {
  const source = modelFilesSource(process.env, process.env);
  const files = await modelFiles(source, AbortSignal.timeout(600_000));
  const { size } = await stat(files.weights);
  const found = {
    model: builtinPackage.name,
    package: source.path ?? source.url,
    sha256: builtinPackage.sha256,
    weights: files.weights,
    bytes: size,
    tokenizer: files.tokenizer,
    licence: builtinPackage.licence,
  };
  console.log(json === true ? JSON.stringify(found, null, 2) : fields(found).trimEnd());
}
