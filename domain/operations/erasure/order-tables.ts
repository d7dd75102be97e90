import type { Catalogue, ForeignKey } from './read-catalogue.ts';

export interface DeletionOrder {
  /** Every table, each before those that it refers to, but for foreign keys of cycles. */
  tables: readonly string[];
  /** Foreign keys of cycles that have to be set to null before. */
  unlinked: readonly ForeignKey[];
  /** Foreign keys to the same table. */
  selfReferring: readonly ForeignKey[];
}

/**
 * Orders tables so that no deletion meets a row that still refers to the deleted one. A cycle is broken at a foreign
 * key whose children PostgreSQL changes together with their parent, else at a nullable one: a check constraint
 * may forbid to set it to null alone. @throws for a cycle in which neither exists
 */
export function orderTables({ tables, foreignKeys }: Catalogue): DeletionOrder {
  const left = new Set(tables.map(({ name }) => name));
  const selfReferring = foreignKeys.filter(isSelf);
  let edges = foreignKeys.filter((edge) => !isSelf(edge));
  const ordered: string[] = [];
  const unlinked: ForeignKey[] = [];
  while (left.size > 0) {
    const referred = new Set(edges.map(({ parent }) => parent));
    const free = [...left].filter((table) => !referred.has(table));
    if (free.length === 0) {
      const broken = breakableOf(edges);
      if (broken.onDelete === 'refuse') unlinked.push(broken);
      edges = edges.filter((edge) => edge !== broken);
      continue;
    }
    ordered.push(...free);
    for (const table of free) left.delete(table);
    edges = edges.filter(({ child }) => left.has(child));
  }
  return { tables: ordered, unlinked, selfReferring };
}

const isSelf = ({ child, parent }: ForeignKey): boolean => child === parent;

/** The foreign key of a cycle that is broken. Every table that is left is referred to, so there is a cycle. */
function breakableOf(edges: readonly ForeignKey[]): ForeignKey {
  const cyclic = edges.filter((edge) => reaches(edges, edge.parent, edge.child));
  const breakable =
    cyclic.find(({ onDelete }) => onDelete !== 'refuse') ??
    cyclic.find(({ nullable }) => nullable.length > 0);
  if (breakable === undefined) {
    const names = [...new Set(cyclic.map(({ child }) => child))].join(', ');
    throw new Error(`The foreign keys of ${names} form a cycle in which none may be null.`);
  }
  return breakable;
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
