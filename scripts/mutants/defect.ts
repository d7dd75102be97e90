import type { Replacement } from './replace-once.ts';

/** A defect that a change could introduce, and the test that must catch it. */
export interface Defect {
  name: string;
  file: string;
  replace: readonly Replacement[];
  test: string;
  /** A part of the name of the test that fails; another failure would be an accident. */
  caughtBy: string;
}
