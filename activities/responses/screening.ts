import { setTimeout as sleep } from 'node:timers/promises';
import {
  findNames,
  NamesNeeded,
  withNames,
  type FoundNames,
  type NameRecogniser,
} from '#domain/governance/found-names.ts';
import { keepFound } from '#domain/governance/keep-found.ts';
import type { Redaction } from '#domain/governance/pii-settings.ts';
import type { Redactor } from '#domain/governance/redact.ts';
import type { Secrets } from '#domain/kernel/secrets.ts';
import type { UnitOfWork } from '#domain/persistence/unit-of-work.ts';
import { commitSurely } from './commit-surely.ts';

export interface ScreeningDependencies {
  unitOfWork: UnitOfWork;
  secrets: Secrets;
  names: NameRecogniser;
}

export interface Screened {
  tenantId: string;
  responseId: string;
  redaction: Redaction;
}

/** Pauses before the recogniser of names is asked again. */
const pausesMs = [250, 1_000, 4_000];

/**
 * Redacts what a running response came upon, and keeps what the tokens stand for before it answers. Our own tokens
 * stay as they are. @throws what the recogniser of names throws, when it does not answer in several seconds
 */
export async function screen<T>(
  deps: ScreeningDependencies,
  of: Screened,
  work: (redactor: Redactor) => T,
): Promise<T> {
  const options = { ...of.redaction, secrets: deps.secrets, tokens: 'mine' as const };
  let names: FoundNames | null = null;
  try {
    withNames(options, null, work);
  } catch (error) {
    if (!(error instanceof NamesNeeded)) {
      throw error;
    }
    names = await ask(deps.names, error);
  }
  const { redactor, result } = withNames(options, names, work);
  const found = redactor.entries;
  if (found.length > 0) {
    await commitSurely(() =>
      deps.unitOfWork.inTenant(of.tenantId, (em) => keepFound({ em, secrets: deps.secrets }, of, found)),
    );
  }
  return result;
}

async function ask(recogniser: NameRecogniser, needed: NamesNeeded): Promise<FoundNames> {
  for (const pause of pausesMs) {
    try {
      return await findNames(recogniser, needed);
    } catch {
      await sleep(pause);
    }
  }
  return findNames(recogniser, needed);
}
