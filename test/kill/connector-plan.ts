import type { Edits } from './connector-sources.ts';
import { shuffled } from './knowledge-plan.ts';

/** What is killed: a worker that holds a run, any worker, or a server. */
export type ConnectorStrike = 'holder' | 'anywhere' | 'postgres' | 'temporal';

export interface ConnectorOptions {
  seed: number;
  /** Of each source at its first run. */
  documents: number;
  /** Of each source between two rounds. */
  edits: Edits;
  /** The kills of each round, in which every connector synchronises. */
  rounds: readonly (readonly ConnectorStrike[])[];
  /** The longest pause between the moment when a run has begun and a kill. */
  pauseMs: number;
  say: (line: string) => void;
}

export type ConnectorForm = Pick<ConnectorOptions, 'documents' | 'edits' | 'rounds' | 'pauseMs'>;

const times = (count: number, kind: ConnectorStrike): ConnectorStrike[] => Array(count).fill(kind);

/** 60 kills: in each of 30 rounds a worker that holds a run, and one more. */
export function longConnectors(random: () => number): ConnectorForm {
  const others = [...times(12, 'anywhere'), ...times(9, 'postgres'), ...times(9, 'temporal')];
  return {
    documents: 250,
    // Fewer deletions and moves than the guard holds back.
    edits: { added: 20, changed: 60, moved: 8, removed: 10 },
    rounds: shuffled(others, random).map((kind) => ['holder', kind]),
    pauseMs: 4_000,
  };
}

export const shortConnectors: ConnectorForm = {
  documents: 110,
  edits: { added: 10, changed: 30, moved: 6, removed: 6 },
  rounds: [
    ['holder', 'postgres'],
    ['holder', 'temporal', 'anywhere'],
  ],
  pauseMs: 1_200,
};
