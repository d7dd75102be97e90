/** One pass over one table. Plain JSON: it may travel through a workflow. */
export interface ErasureStep {
  /** Unique in its plan, such as `delete messages`, for progress and logs. */
  name: string;
  /**
   * `truncate` empties a partition that holds rows of this tenant alone; `unlink` sets foreign keys of a cycle to null;
   * `delete` deletes the rows.
   */
  kind: 'truncate' | 'unlink' | 'delete';
  /** The table, or the partition of a `truncate`; in the schema `public`. */
  table: string;
  /** The table under which the rows are counted: that of a partition. */
  countedAs: string;
  /** The columns that order the rows within a tenant, each with its SQL type. Empty: the tenant has one row at most. */
  key: readonly KeyColumn[];
  /** Of an `unlink`: the columns that are set to null. */
  clears: readonly string[];
  /**
   * Foreign keys to rows of the same table, each as pairs of its column and the column that it names. With one, the
   * last row goes first: a row refers to an earlier one.
   */
  selfReferences: readonly (readonly (readonly [string, string])[])[];
}

export interface KeyColumn {
  name: string;
  type: string;
}
