import type { EntityManager } from '@mikro-orm/postgresql';
import type { Embedder } from './embedder.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { calibrationTexts } from './calibration-texts.ts';
import type { InTransaction } from './embed-document.ts';
import { EmbeddingGeneration } from './embedding-generation.entity.ts';
import { EmbeddingModel } from './embedding-model.entity.ts';
import { activeGeneration, liveGenerations, type LiveGeneration } from './live-generations.ts';
import { floatsToBytes } from './quantise.ts';

/** Vectors of a model crowd in one direction: their mean, over texts that are the same for all. */
export async function meanVector(embedder: Embedder, signal: AbortSignal): Promise<Float32Array> {
  const { vectors } = await embedder.embedPassages(calibrationTexts, signal);
  const mean = new Float32Array(embedder.dims);
  for (const vector of vectors) {
    vector.forEach((component, index) => {
      mean[index] = (mean[index] ?? 0) + component / vectors.length;
    });
  }
  return mean;
}

/** The active generation of a space; the first one is created with the tenant's builtin model, unless that of
 * another is being built. */
export async function ensureActive(
  inTransaction: InTransaction,
  { tenantId, spaceId }: { tenantId: string; spaceId: string },
  embedderOf: (model: EmbeddingModel) => Embedder,
  signal: AbortSignal,
): Promise<LiveGeneration | null> {
  const { live, model } = await inTransaction(async (em) => ({
    live: await liveGenerations(em, spaceId),
    model: await em.findOne(EmbeddingModel, { providerKind: 'builtin', disabledAt: null }),
  }));
  if (live.length > 0 || model === null) {
    return live.find(({ generation }) => generation.state === 'active') ?? null;
  }
  const mean = floatsToBytes(await meanVector(embedderOf(model), signal));
  return inTransaction(async (em) => {
    await em.execute(
      `insert into embedding_generations (tenant_id, id, space_id, model_id, state, mean, activated_at)
       select ?, ?, s.id, ?, 'active', ?, now() from spaces s where s.tenant_id = ? and s.id = ?
       on conflict do nothing`,
      [tenantId, newId(), model.id, mean, tenantId, spaceId],
    );
    return activeGeneration(em, spaceId);
  });
}

/** Computes the mean of a generation that is to be built, once. @returns null when it was cancelled */
export async function calibrate(
  inTransaction: InTransaction,
  { generation, model }: LiveGeneration,
  embedder: Embedder,
  signal: AbortSignal,
): Promise<LiveGeneration | null> {
  if (generation.mean.length > 0) {
    return { generation, model };
  }
  const mean = floatsToBytes(await meanVector(embedder, signal));
  return inTransaction(async (em) => {
    const locked = await lockGeneration(em, generation.id);
    if (locked?.state !== 'building') {
      return null;
    }
    if (locked.mean.length === 0) {
      locked.mean = mean;
      await em.flush();
    }
    return { generation: locked, model };
  });
}

/** Lets vectors of the generation be stored, whose foreign key would wait for a stronger lock and end in a deadlock. */
export async function lockGeneration(em: EntityManager, id: string): Promise<EmbeddingGeneration | null> {
  await em.execute('select from embedding_generations where id = ? for no key update', [id]);
  return em.findOne(EmbeddingGeneration, { id }, { refresh: true });
}
