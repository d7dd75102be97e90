import type { EntityManager } from '@mikro-orm/postgresql';
import type { Embedder, Embedders } from './embedder.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import { calibrationTexts } from './calibration-texts.ts';
import type { InTransaction } from './embed-document.ts';
import { EmbeddingGeneration } from './embedding-generation.entity.ts';
import { EmbeddingModel } from './embedding-model.entity.ts';
import { liveGenerations, type LiveGeneration } from './live-generations.ts';
import { floatsToBytes } from './quantise.ts';
import { recordUsage } from './record-usage.ts';

/** Vectors of a model crowd in one direction: their mean, over texts that are the same for all, and its tokens. */
async function meanVector(
  embedder: Embedder,
  signal: AbortSignal,
): Promise<{ mean: Buffer; tokens: number }> {
  const { vectors, tokens } = await embedder.embedPassages(calibrationTexts, signal);
  const mean = new Float32Array(embedder.dims);
  for (const vector of vectors) {
    vector.forEach((component, index) => {
      mean[index] = (mean[index] ?? 0) + component / vectors.length;
    });
  }
  return { mean: floatsToBytes(mean), tokens };
}

/** Also where another calibration was stored first: the vendor bills both. */
const recordCalibration = (
  em: EntityManager,
  { spaceId, model, tokens }: { spaceId: string; model: EmbeddingModel; tokens: number },
): Promise<void> =>
  recordUsage(em, { spaceId, model, purpose: 'calibration', texts: calibrationTexts.length, tokens });

interface SpaceWork {
  inTransaction: InTransaction;
  embedders: Embedders;
  tenantId: string;
  spaceId: string;
  signal: AbortSignal;
}

/**
 * The live generations of a space. Without any, its first one is created active, with the tenant's builtin model.
 * @throws `EmbeddingFailure`
 */
export async function ensureLive(work: SpaceWork): Promise<LiveGeneration[]> {
  const { inTransaction, embedders, tenantId, spaceId, signal } = work;
  const { live, model } = await inTransaction(async (em) => {
    const live = await liveGenerations(em, spaceId);
    const builtin = { providerKind: 'builtin', disabledAt: null } as const;
    return { live, model: live.length > 0 ? null : await em.findOne(EmbeddingModel, builtin) };
  });
  if (model === null) {
    return live;
  }
  const { mean, tokens } = await meanVector(embedders.of(model), signal);
  return inTransaction(async (em) => {
    await em.execute(
      `insert into embedding_generations (tenant_id, id, space_id, model_id, state, mean, activated_at)
       select ?, ?, s.id, ?, 'active', ?, now() from spaces s where s.tenant_id = ? and s.id = ?
       on conflict do nothing`,
      [tenantId, newId(), model.id, mean, tenantId, spaceId],
    );
    const begun = await liveGenerations(em, spaceId);
    if (begun.length > 0) {
      await recordCalibration(em, { spaceId, model, tokens });
    }
    return begun;
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
  const { mean, tokens } = await meanVector(embedder, signal);
  return inTransaction(async (em) => {
    await recordCalibration(em, { spaceId: generation.spaceId, model, tokens });
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
