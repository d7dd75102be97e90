import { defineEntity } from '@mikro-orm/core';

/** `building` until it has a vector for each passage, then `active`; the one before becomes `retired`. */
export const generationStates = ['building', 'active', 'retired', 'cancelled'] as const;
export type GenerationState = (typeof generationStates)[number];

const schema = defineEntity({
  name: 'EmbeddingGeneration',
  tableName: 'embedding_generations',
  properties: (p) => ({
    tenantId: p.uuid().primary(),
    id: p.uuid().primary(),
    spaceId: p.uuid(),
    modelId: p.uuid(),
    state: p.text().$type<GenerationState>(),
    /** float32, little-endian: subtracted from a vector before its signs are taken. */
    mean: p.blob(),
    /** int8 for each component, one centroid of its lists after the other; null: it has none. */
    centroids: p.blob().lazy().nullable(),
    listCount: p.smallint().default(0),
    /** When each of its vectors had a list. */
    partitionedAt: p.datetime().nullable(),
    /** Number of the graph that its vectors join; 0: none was begun. */
    graph: p.smallint().default(0),
    /** When each of its vectors had joined that graph. */
    graphedAt: p.datetime().nullable(),
    /** Not before: an attempt to begin a graph was in the way of others. */
    graphRetryAt: p.datetime().nullable(),
    /** While building: documents up to this id have their vectors. */
    doneThrough: p.uuid().nullable(),
    documentsDone: p.integer().default(0),
    documentsTotal: p.integer().default(0),
    /** Code of the last failure of the model; null after a success. */
    lastError: p.text().nullable(),
    createdAt: p.datetime().defaultRaw('now()'),
    activatedAt: p.datetime().nullable(),
    endedAt: p.datetime().nullable(),
  }),
});

export class EmbeddingGeneration extends schema.class {}
schema.setClass(EmbeddingGeneration);
