/** The size of a run. */
export interface Scale {
  toolRounds: readonly number[];
  callers: readonly number[];
  /** Pairs of measurements per line. */
  rounds: number;
  /** The minimum duration of one measurement. */
  windowMs: number;
  /** Operations of each kind before anything is measured. */
  warmUp: number;
  firstTokenPairs: number;
  /** Tokens that a stream has at 20 ms apart; at another pace as many as take that time. */
  tokens: number;
  streams: readonly number[];
  /** Connections that read, each a response of its own. */
  connections: number;
  getSeconds: number;
  /** Members whose keys are used side by side. */
  readers: number;
  idleStreams: number;
}

export const full: Scale = {
  toolRounds: [0, 1, 5],
  callers: [1, 16, 64],
  rounds: 3,
  windowMs: 2_500,
  warmUp: 64,
  firstTokenPairs: 100,
  tokens: 200,
  streams: [1, 50],
  connections: 50,
  getSeconds: 5,
  readers: 10,
  idleStreams: 2_000,
};

/** Every part once, in half a minute: shows that the bench works; the figures mean nothing. */
export const quick: Scale = {
  toolRounds: [0, 1],
  callers: [4],
  rounds: 1,
  windowMs: 250,
  warmUp: 4,
  firstTokenPairs: 5,
  tokens: 25,
  streams: [1, 5],
  connections: 5,
  getSeconds: 0.25,
  readers: 2,
  idleStreams: 60,
};
