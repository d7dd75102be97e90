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

export interface ScreeningDependencies {
  unitOfWork: UnitOfWork;
  secrets: Secrets;
  names: NameRecogniser;
  longTexts: LongTextRedactor;
}

export interface Screened {
  tenantId: string;
  responseId: string;
  redaction: Redaction;
}

/** Delays before the recogniser of names, or a thread for long texts, is retried. */
const pausesMs = [250, 1_000, 4_000];

/** For the names in all texts of one step, its retries included. */
const namesWithinMs = 60_000;

/**
 * Redacts content of a running response, and stores the values of the tokens before it returns. The platform's own
 * tokens stay unchanged. @throws errors of the recogniser of names, when it is unavailable for several seconds
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
      return work(await searching(tenantId, (search) => findNames(deps.names, error, search)));
    }
    if (error instanceof RedactionNeeded) {
      return work(
        await searching(tenantId, (search) => redactBeforehand(deps, search, { needed: error, known: null })),
      );
    }
    throw error;
  }
}

function searching<T>(tenantId: string, work: (search: NameSearch) => Promise<T>): Promise<T> {
  const { cancellationSignal } = ActivityContext.current();
  const signal = AbortSignal.any([cancellationSignal, AbortSignal.timeout(namesWithinMs)]);
  return withRetries(signal, () => work({ tenantId, signal }));
}

async function withRetries<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (const pause of pausesMs) {
    try {
      return await work();
    } catch {
      await sleep(pause, undefined, { signal });
    }
  }
  return work();
}
