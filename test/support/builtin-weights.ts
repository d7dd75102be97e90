import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createBuiltinModel, modelFilesSource } from '#adapters/embeddings/create-builtin-model.ts';
import type { ModelFiles } from '#adapters/embeddings/builtin-package.ts';
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

/** The package as it is fetched, in one piece. */
export function packageBytes(): Promise<Buffer> {
  return (fetched ??= source
    .fetch(source.url)
    .then(async (answer) => Buffer.from(await answer.arrayBuffer())));
}

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
