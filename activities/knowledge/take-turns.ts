import type { BulkTurns } from '#domain/foundation/kernel/bulk-turns.ts';

/** Passages that take over a known vector for one turn: some ten milliseconds of the database. */
const passagesPerTurn = 100;

/** Counts passages, also of several documents, and waits for a turn of the tenant for each hundred of them. */
export function takeTurns(
  turns: Pick<BulkTurns, 'take'>,
  tenantId: string,
  signal: AbortSignal,
): (passages: number) => Promise<void> {
  let counted = 0;
  return async (passages) => {
    counted += passages;
    while (counted >= passagesPerTurn) {
      counted -= passagesPerTurn;
      await turns.take(tenantId, signal);
    }
  };
}
