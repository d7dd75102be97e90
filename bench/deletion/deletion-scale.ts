/** The size of a run. */
export interface DeletionScale {
  /** Rows of each tenant, spread over all tables. */
  rows: number;
  /** Tenants that stay, each as large as the erased one. */
  others: number;
  /** How long reads are measured without an erasure. */
  quietMs: number;
}

export const full: DeletionScale = { rows: 1_000_000, others: 10, quietMs: 20_000 };

/** Every part once: shows that the bench works; the figures mean nothing. */
export const quick: DeletionScale = { rows: 2_000, others: 1, quietMs: 500 };

/** `DELETION_ROWS` and `DELETION_OTHERS` scale the full run to what a machine has room for. */
export function scaleOf(env: NodeJS.ProcessEnv, isQuick: boolean): DeletionScale {
  if (isQuick) return quick;
  return {
    ...full,
    rows: Number(env['DELETION_ROWS'] ?? full.rows),
    others: Number(env['DELETION_OTHERS'] ?? full.others),
  };
}
