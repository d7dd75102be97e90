import type { Replacement } from './replace-once.ts';

/** A defect that somebody could bring in, and the test that must not let it pass. */
export interface Defect {
  name: string;
  file: string;
  replace: readonly Replacement[];
  test: string;
  /** A part of the name of the test that fails; another failure would be an accident. */
  caughtBy: string;
}
