import type { KnowledgeStrike } from './knowledge-strikes.ts';

export interface KnowledgeOptions {
  seed: number;
  /** An equal share of them is uploaded before each kill of `uploading`, and one at each change. */
  documents: number;
  /** Kills while documents are uploaded. */
  uploading: readonly KnowledgeStrike[];
  /** Kills during each change of the model, one list for each change. */
  changing: readonly (readonly KnowledgeStrike[])[];
  /** The longest pause before a kill. */
  pauseMs: number;
  say: (line: string) => void;
}

export type KnowledgeForm = Pick<KnowledgeOptions, 'documents' | 'uploading' | 'changing' | 'pauseMs'>;

const times = (count: number, kind: KnowledgeStrike): KnowledgeStrike[] => Array(count).fill(kind);

const change: KnowledgeStrike[] = [...times(4, 'embedding'), ...times(2, 'anywhere'), 'postgres', 'temporal'];

/** 60 kills: 36 during uploads, and 8 during each of three changes of the model. */
export const longKnowledge: KnowledgeForm = {
  documents: 117,
  uploading: [
    ...times(14, 'embedding'),
    ...times(8, 'stored'),
    ...times(4, 'anywhere'),
    ...times(5, 'postgres'),
    ...times(5, 'temporal'),
  ],
  changing: [change, change, change],
  pauseMs: 1_500,
};

export const shortKnowledge: KnowledgeForm = {
  documents: 12,
  uploading: ['stored', 'embedding', 'temporal'],
  changing: [['embedding', 'postgres']],
  pauseMs: 300,
};

/** The same kills in an order that the random numbers determine. */
export function shuffled<T>(list: readonly T[], random: () => number): T[] {
  return list
    .map((value) => ({ value, rank: random() }))
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ value }) => value);
}
