import { setTimeout as sleep } from 'node:timers/promises';
import { Context as ActivityContext } from '@temporalio/activity';
import {
  findNames,
  NamesNeeded,
  redactBeforehand,
  RedactionNeeded,
  withNames,
  type FoundNames,
  type NameRecogniser,
  type NameSearch,
} from '#domain/governance/redaction/found-names.ts';
import { saveFoundEntries } from '#domain/responses/turn/save-found-entries.ts';
import type { Redaction } from '#domain/governance/policy/pii-settings.ts';
import type { LongTextRedactor } from '#domain/governance/redaction/redact-texts.ts';
import type { Redactor } from '#domain/governance/redaction/redact.ts';
import type { Secrets } from '#domain/foundation/kernel/secrets.ts';
import type { UnitOfWork } from '#domain/foundation/persistence/unit-of-work.ts';
import { commitWithRetry } from './commit-with-retry.ts';
import { RecogniserUnavailable } from './temporary-failure.ts';

export interface ScreeningDependencies {
  unitOfWork: UnitOfWork;
  secrets: Secrets;
  names: NameRecogniser;
  longTexts: LongTextRedactor;
  /** Delays before the recogniser of names, or a thread for long texts, is retried. Omitted: some five seconds in all. */
  pausesMs?: readonly number[];
}

export interface Screened {
  tenantId: string;
  responseId: string;
  redaction: Redaction;
}

const defaultPausesMs = [250, 1_000, 4_000];

/** For the names in all texts of one step, its retries included. */
const namesWithinMs = 60_000;

/**
 * Redacts content of a running response, and stores the values of the tokens before it returns. The platform's own
 * tokens stay unchanged.
 * @throws `RecogniserUnavailable` when it is for several seconds; errors of the threads for long texts
 */
export async function screen<T>(
  deps: ScreeningDependencies,
  of: Screened,
  work: (redactor: Redactor) => T,
): Promise<T> {
  const options = { ...of.redaction, secrets: deps.secrets, tokens: 'mine' as const };
  const { redactor, result } = await withAllFound(deps, of.tenantId, (names) =>
    withNames(options, names, work),
  );
  const found = redactor.entries;
  if (found.length > 0) {
    await commitWithRetry(() =>
      deps.unitOfWork.inTenant(of.tenantId, (em) =>
        saveFoundEntries({ em, secrets: deps.secrets }, of, found),
      ),
    );
  }
  return result;
}

/** Runs the work, and repeats it with the findings that it lacked. */
async function withAllFound<T>(
  deps: ScreeningDependencies,
  tenantId: string,
  work: (names: FoundNames | null) => T,
): Promise<T> {
  try {
    return work(null);
  } catch (error) {
    if (error instanceof NamesNeeded) {
      return work(await searching(deps, tenantId, (given, search) => findNames(given.names, error, search)));
    }
    if (error instanceof RedactionNeeded) {
      return work(
        await searching(deps, tenantId, (given, search) =>
          redactBeforehand(given, search, { needed: error, known: null }),
        ),
      );
    }
    throw error;
  }
}

type Finders = Pick<ScreeningDependencies, 'names' | 'longTexts'>;

function searching<T>(
  { names: recogniser, longTexts, pausesMs = defaultPausesMs }: ScreeningDependencies,
  tenantId: string,
  work: (given: Finders, search: NameSearch) => Promise<T>,
): Promise<T> {
  const { cancellationSignal } = ActivityContext.current();
  const signal = AbortSignal.any([cancellationSignal, AbortSignal.timeout(namesWithinMs)]);
  const names: NameRecogniser = {
    find: (...asked) =>
      recogniser.find(...asked).catch((cause: unknown) => {
        throw new RecogniserUnavailable(cause);
      }),
  };
  return withRetries(pausesMs, signal, () => work({ names, longTexts }, { tenantId, signal }));
}

/** @throws the last error of `work`, also when there is no time for another try */
async function withRetries<T>(
  pausesMs: readonly number[],
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  for (const pause of pausesMs) {
    try {
      return await work();
    } catch (error) {
      await sleep(pause, undefined, { signal }).catch(() => {
        throw error;
      });
    }
  }
  return work();
}
