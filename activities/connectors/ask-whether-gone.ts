import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { MissingDocument } from '#domain/knowledge/synchronisation/missing-documents.ts';
import type { OpenRun } from './run-steps.ts';

/** Documents that are asked for at the same time. */
const parallel = 4;
/** After so many documents in a row without an answer, the source is checked. */
const maxSilent = 5;
/** Failures that concern the source as a whole: the documents behind would meet them, too. */
const stops = new Set(['auth_failed', 'rate_limited', 'quota_exceeded']);

export interface Asked {
  gone: MissingDocument[];
  there: MissingDocument[];
  /** What could not be asked for: it stays. */
  unasked: { id: string; ref: string; code: string }[];
  /** Id of the last document before which all were looked at; null: none was. */
  last: string | null;
  /** Why the others were not looked at; null: all were, or the time was over, or the signal ended it. */
  stop: SourceFailure | null;
}

interface Asking {
  endsAt: number;
  signal: AbortSignal;
  /** Whether the others need not be asked for; omitted: all must be. */
  isEnough?: (asked: Asked) => boolean;
}

export function hasAnswers({ gone, there, unasked }: Pick<Asked, 'gone' | 'there' | 'unasked'>): boolean {
  return gone.length + there.length + unasked.length > 0;
}

/**
 * Asks the source for documents that its listing lacks, for some of them in any case. What it has answered counts also
 * when it goes away, or when the signal ends the asking.
 */
export async function askWhetherGone(
  { source, pace }: Pick<OpenRun, 'source' | 'pace'>,
  missing: readonly MissingDocument[],
  { endsAt, signal, isEnough = () => false }: Asking,
): Promise<Asked> {
  const asked: Asked = { gone: [], there: [], unasked: [], last: null, stop: null };
  let silent = 0;
  const ask = async (each: MissingDocument): Promise<void> => {
    if (each.isGone) {
      asked.gone.push(each);
      return;
    }
    try {
      await pace(1, signal);
      const answers = (await source.exists(each.ref, signal)) ? asked.there : asked.gone;
      answers.push(each);
      silent = 0;
    } catch (error) {
      if (signal.aborted) return;
      const failure = error instanceof SourceFailure ? error : null;
      if (failure !== null && stops.has(failure.code)) {
        asked.stop ??= failure;
        return;
      }
      asked.unasked.push({ id: each.id, ref: each.ref, code: failure?.code ?? 'internal_error' });
      silent += 1;
    }
  };
  for (let at = 0; at < missing.length; at += parallel) {
    const group = missing.slice(at, at + parallel);
    await Promise.all(group.map(ask));
    if (asked.stop !== null || signal.aborted) break;
    if (silent >= maxSilent) {
      asked.stop = await checkFailure({ source, pace }, signal);
      // Before a pause they count: the step after it begins behind them.
      if (asked.stop?.code === 'rate_limited') break;
      if (asked.stop !== null || signal.aborted) {
        asked.unasked.splice(-silent);
        break;
      }
      silent = 0;
    }
    asked.last = group.at(-1)?.id ?? asked.last;
    if (Date.now() > endsAt || isEnough(asked)) break;
  }
  return asked;
}

/** @returns null: it answers, or the signal has ended the check */
async function checkFailure(
  { source, pace }: Pick<OpenRun, 'source' | 'pace'>,
  signal: AbortSignal,
): Promise<SourceFailure | null> {
  try {
    await pace(1, signal);
    await source.check(signal);
    return null;
  } catch (error) {
    if (signal.aborted) return null;
    if (error instanceof SourceFailure) return error;
    throw error;
  }
}
