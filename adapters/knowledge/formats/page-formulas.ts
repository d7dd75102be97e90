import type { PageDocument } from './page-nodes.ts';

/** Formulas of one element from which on each has an element of its own. */
const maxTogether = 100;

/**
 * Gives each of many formulas that follow each other a parent of its own: the search for the main text looks for the
 * source of a formula in everything that its parent holds.
 */
export function separateFormulas(document: PageDocument): void {
  const formulas = Map.groupBy(document.querySelectorAll('math'), ({ parentNode }) => parentNode);
  for (const together of formulas.values()) {
    for (const formula of together.length > maxTogether ? together : []) {
      const own = document.createElement('span');
      formula.replaceWith?.(own);
      own.append?.(formula);
    }
  }
}
