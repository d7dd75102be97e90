import type { EntityManager } from '@mikro-orm/postgresql';

/** A passage's address: its document and its place in it. */
export interface PassageRef {
  documentId: string;
  position: number;
  /** The reading of the passage; omitted: the current one. */
  generation?: number;
}

export interface VectorHit extends PassageRef {
  /** 0 (unrelated) to 1 (the same). */
  similarity: number;
}

export interface VectorQuery {
  /** Collections of one space; never empty. */
  collectionIds: string[];
  question: string;
  limit: number;
}

/** The port to nearest-neighbour search. Without one, search is by keyword and its result says so. */
export interface VectorIndex {
  nearest(em: EntityManager, query: VectorQuery): Promise<VectorHit[]>;
}
