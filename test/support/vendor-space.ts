import type { Client } from 'pg';
import { createGuardedFetch } from '#adapters/egress/guarded-fetch.ts';
import { createBuiltinModel, modelFilesSource } from '#adapters/embeddings/create-builtin-model.ts';
import { createEmbedders } from '#adapters/embeddings/create-embedders.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Embedders } from '#domain/knowledge/embeddings/embedder.ts';
import type { EmbeddingServer } from './embedding-server.ts';

/** The embedders of a process that may reach these servers; its builtin model has no weights. */
export const embeddersFor = (servers: readonly EmbeddingServer[]): Embedders =>
  createEmbedders({
    builtin: createBuiltinModel(modelFilesSource({}, {})),
    fetch: createGuardedFetch(servers.map(({ origin }) => origin)),
    credential: () => undefined,
    stored: { read: async () => Promise.reject(new Error('no key is stored')), refused: () => undefined },
  });

/** Makes the model of a server the one of a space. */
export async function useServer(
  admin: Client,
  { tenantId, spaceId }: { tenantId: string; spaceId: string },
  { server, dims }: { server: EmbeddingServer; dims: number },
): Promise<void> {
  const modelId = newId();
  await admin.query(
    `insert into embedding_models (tenant_id, id, alias, provider_kind, provider_model, base_url, dims, max_tokens)
     values ($1, $2, 'words', 'openai_compatible', 'words-1', $3, $4, 512)`,
    [tenantId, modelId, `${server.origin}/v1`, dims],
  );
  await admin.query(
    `insert into embedding_generations (tenant_id, id, space_id, model_id, state, mean, activated_at)
     values ($1, $2, $3, $4, 'active', $5, now())`,
    [tenantId, newId(), spaceId, modelId, Buffer.alloc(4 * dims)],
  );
}

/** A server that takes requests and never answers. */
export function silence(server: EmbeddingServer): void {
  server.scripts.push(...Array.from({ length: 10_000 }, () => 'silence' as const));
}
