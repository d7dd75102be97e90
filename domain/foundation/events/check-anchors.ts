import type { Anchor } from './anchor.ts';
import type { ChainRow, Finding } from './chain.ts';

const dayMs = 86_400_000;

/** The first month of which every day is within retention at a moment. */
export function firstRetainedMonth(at: Date, retentionDays: number): Date {
  const oldest = new Date(at.getTime() - retentionDays * dayMs);
  return new Date(Date.UTC(oldest.getUTCFullYear(), oldest.getUTCMonth()));
}

/**
 * Compares a tenant's chain with its anchors: every retained anchored head must be equal, and the retained part may
 * begin later only because the retention of a month was over.
 * @param heads recomputed heads of the retained batches that anchors name, by number
 */
export function checkAnchors(input: {
  anchors: readonly Anchor[];
  chain: ChainRow;
  heads: ReadonlyMap<number, string>;
  retentionDays: number;
}): Finding[] {
  const { anchors, chain, heads, retentionDays } = input;
  const findings: Finding[] = [];
  for (const { seq, head } of anchors) {
    if (seq >= chain.checkpoint_seq && seq > 0 && heads.get(seq) !== head) {
      findings.push({ kind: 'anchor_differs', seq });
    }
  }
  // Events sealed after an anchor were created later, except for the lag of sealing.
  const kept = firstRetainedMonth(chain.now, retentionDays).getTime() + dayMs;
  if (anchors.some(({ at, seq }) => new Date(at).getTime() >= kept && seq < chain.checkpoint_seq)) {
    findings.push({ kind: 'checkpoint_moved', seq: chain.checkpoint_seq });
  }
  const moments = [
    ...anchors.map((anchor) => ({ ...anchor, at: new Date(anchor.at) })),
    { checkpoint_seq: chain.checkpoint_seq, at: chain.now, retention_days: retentionDays },
  ];
  for (const [i, moment] of moments.entries()) {
    const before = moments[i - 1];
    if (before === undefined || before.checkpoint_seq === moment.checkpoint_seq) {
      continue;
    }
    const earlier = new Date(before.at.getTime() - 2 * dayMs);
    const mayHaveEnded =
      firstRetainedMonth(moment.at, moment.retention_days) >
      firstRetainedMonth(earlier, before.retention_days);
    if (moment.checkpoint_seq < before.checkpoint_seq || !mayHaveEnded) {
      findings.push({ kind: 'checkpoint_moved', seq: moment.checkpoint_seq });
    }
  }
  return findings;
}
