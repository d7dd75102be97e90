import { percentile } from './distribution.ts';
import { isInMidEmbedding, isStored } from './knowledge-rows.ts';
import type { KnowledgeSearches } from './knowledge-searches.ts';
import type { KnowledgeStruck } from './knowledge-strikes.ts';
import type { Comparison } from './knowledge-verdict.ts';

export interface KnowledgeRun {
  seed: number;
  documents: number;
  struck: KnowledgeStruck[];
  /** Kills of the plan that were impossible, and replacements that did not start. */
  missed: string[];
  recoveryMs: number[];
  searches: KnowledgeSearches;
  compared: Comparison;
  strays: string[];
  /** Questions whose answers by meaning differ from those of the undisturbed space. */
  searchDifferences: string[];
  /** Workflows that did not end. */
  stuck: string[];
  seconds: number;
}

/** Kills after which a document that the worker held had some of its vectors. */
export const inMidEmbedding = ({ struck }: KnowledgeRun): number =>
  struck.filter(({ held }) => held.some(isInMidEmbedding)).length;

/** Kills after which a document that the worker held was stored and not finished. */
export const afterStore = ({ struck }: KnowledgeRun): number =>
  struck.filter(({ held }) => held.some(isStored)).length;

/** The run on one screen. */
export function describeKnowledge(run: KnowledgeRun): string {
  const kinds = Map.groupBy(run.struck, ({ kind }) => kind);
  const kills = [...kinds].map(([kind, list]) => `${kind} ${list.length}`).join(', ');
  const seconds = (share: number) => (percentile(run.recoveryMs, share) / 1_000).toFixed(1);
  const { done, byMeaning, unavailable, faults } = run.searches;
  const { passages, vectors, differences } = run.compared;
  return [
    `knowledge: SEED=${run.seed}, ${run.documents} documents, ${run.seconds} s`,
    `  kills         ${run.struck.length} (${kills}), not done ${run.missed.length}`,
    `  cut off       ${inMidEmbedding(run)} in mid-embedding, ${afterStore(run)} between store and finish`,
    `  recovery      p50 ${seconds(0.5)} s, max ${seconds(1)} s over ${run.recoveryMs.length}`,
    `  searches      ${done}, ${byMeaning} of them also by meaning, ${unavailable} refused while PostgreSQL was down, ${faults.length} faults`,
    `  passages      ${passages}, ${vectors} with vectors, ${differences.length} different from the undisturbed space`,
    `  strays        ${run.strays.length}, ${run.searchDifferences.length} answers by meaning different, ${run.stuck.length} workflows stuck`,
  ].join('\n');
}
