import type { ForeignKey } from '#domain/operations/erasure/read-catalogue.ts';

/** What a reference says of its row when the row that it names is erased. */
export interface Bond {
  /** The row is a `part` and is erased; it is a `use`, whose reference is set to null; or it stays as it is. */
  kind: 'part' | 'use' | 'none';
  /** Of a `part`: SQL conditions on its rows `c`. */
  only?: readonly string[];
}

/** A reference without a foreign key: table, column, and the table that it names by its `id`. */
export type Belonging = readonly [child: string, column: string, parent: string];

/** As a foreign key that PostgreSQL would refuse to break. */
export function belongingOf([child, column, parent]: Belonging): ForeignKey {
  const pairs = [
    ['tenant_id', 'tenant_id'],
    [column, 'id'],
  ] as const;
  return { child, parent, nullable: [], pairs, onDelete: 'refuse' };
}
