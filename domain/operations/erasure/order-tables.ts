import type { Catalogue, ForeignKey } from './read-catalogue.ts';

export interface DeletionOrder {
  /** Every table, each before those that it refers to. */
  tables: readonly string[];
  /** Foreign keys of cycles: without them the order holds. */
  broken: readonly ForeignKey[];
}

/**
 * Orders tables so that no deletion meets a row that still refers to the deleted one. Cycles are broken at a foreign
 * key that may be null. @throws for a cycle of which no foreign key may be null
 */
export function orderTables({ tables, foreignKeys }: Catalogue): DeletionOrder {
  const left = new Set(tables.map(({ name }) => name));
  let edges = [...foreignKeys];
  const ordered: string[] = [];
  const broken: ForeignKey[] = [];
  const breakEdges = (these: readonly ForeignKey[]) => {
    broken.push(...these);
    edges = edges.filter((edge) => !these.includes(edge));
  };
  breakEdges(edges.filter(({ child, parent, nullable }) => child === parent && nullable.length > 0));
  while (left.size > 0) {
    const referred = new Set(edges.map(({ parent }) => parent));
    const free = [...left].filter((table) => !referred.has(table));
    if (free.length === 0) {
      const cyclic = edges.filter((edge) => reaches(edges, edge.parent, edge.child));
      const candidate = cyclic.find(({ nullable }) => nullable.length > 0);
      if (candidate === undefined) {
        const names = [...new Set(cyclic.map(({ child }) => child))].join(', ');
        throw new Error(`The foreign keys of ${names} form a cycle in which none may be null.`);
      }
      breakEdges([candidate]);
      continue;
    }
    ordered.push(...free);
    for (const table of free) left.delete(table);
    edges = edges.filter(({ child }) => left.has(child));
  }
  return { tables: ordered, broken };
}

/** Whether references lead from one table to another. */
function reaches(edges: readonly ForeignKey[], from: string, to: string): boolean {
  const seen = new Set([from]);
  for (const table of seen) {
    for (const { child, parent } of edges) {
      if (child === table) seen.add(parent);
    }
  }
  return seen.has(to);
}
