import { shuffled } from '../knowledge-plan.ts';

/**
 * What happens while a refresh or the exchange of a code is under way: a worker, a gateway or PostgreSQL is killed, or
 * the connections to PostgreSQL fall silent.
 */
export type ConnectionStrike = 'worker' | 'gateway' | 'postgres' | 'silence';

export interface ConnectionForm {
  /** People with an account each; some more share one account, or connect and disconnect all the time. */
  people: number;
  strikes: readonly ConnectionStrike[];
  /** The longest pause between the moment when a token was issued and the strike. */
  pauseMs: number;
  /** The longest pause before that. */
  restMs: number;
}

const times = (count: number, kind: ConnectionStrike): ConnectionStrike[] => Array(count).fill(kind);

/** 30 kills, and four silences. */
export function longConnections(random: () => number): ConnectionForm {
  const strikes = [
    ...times(14, 'worker'),
    ...times(8, 'gateway'),
    ...times(8, 'postgres'),
    ...times(4, 'silence'),
  ];
  return { people: 6, strikes: shuffled(strikes, random), pauseMs: 300, restMs: 3_000 };
}

export const shortConnections: ConnectionForm = {
  people: 3,
  strikes: ['postgres', 'worker', 'gateway'],
  pauseMs: 200,
  restMs: 1_000,
};
