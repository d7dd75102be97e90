import type { FastifyRequest } from 'fastify';
import type { Context } from '#domain/foundation/access/context.ts';
import {
  findNames,
  NamesNeeded,
  RecogniserBusy,
  redactBeforehand,
  RedactionNeeded,
  type FoundNames,
  type NameRecogniser,
} from '#domain/governance/redaction/found-names.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { GatewayDependencies } from './compose.ts';
import type { SpaceOfCall } from './plugins/unit-of-work.ts';
import { whileConnected } from './while-connected.ts';

/**
 * A bound for use cases that never come to an end, well above the rounds that any needs. Each round brings a result
 * that was lacking: a response has three places with long texts (its input, definitions of tools, approved calls) and
 * two with names. Others may change a text between two rounds, which then needs another one.
 */
const maxRounds = 12;

/** For the names in all texts of a request, all rounds included. */
const defaultNamesWithinMs = 30_000;

type CallingRequest = Pick<FastifyRequest, 'inContext' | 'identity' | 'raw'>;

interface NameDependencies extends Pick<GatewayDependencies, 'names' | 'longTexts'> {
  namesWithinMs?: number;
}

/**
 * Runs a use case that may need a recogniser service, or long texts redacted in a thread. That work is done between two
 * transactions, and the use case then restarts with its result. If neither is needed the use case runs once.
 * @throws `engine_unavailable` when the service does not answer in time, `overloaded` when the tenant has no place for a
 *   search, no thread is free in time, or there is always another text, `request_timeout` when the client leaves meanwhile
 */
export function withFoundNames<T>(
  deps: NameDependencies,
  request: CallingRequest,
  space: SpaceOfCall,
  work: (ctx: Context, names: FoundNames | null) => Promise<T>,
): Promise<T> {
  return whileConnected(request, (left) => inRounds(beforehand(deps, request, left), request, space, work));
}

async function inRounds<T>(
  find: Beforehand,
  request: CallingRequest,
  space: SpaceOfCall,
  work: (ctx: Context, names: FoundNames | null) => Promise<T>,
): Promise<T> {
  let names: FoundNames | null = null;
  for (let round = 0; round <= maxRounds; round += 1) {
    const known: FoundNames | null = names;
    try {
      return await request.inContext(space, (ctx) => work(ctx, known));
    } catch (error) {
      if (error instanceof NamesNeeded) {
        names = await find.names(error, known);
      } else if (error instanceof RedactionNeeded) {
        names = await find.inLongTexts(error, known);
      } else {
        throw error;
      }
    }
  }
  throw new DomainError(
    'overloaded',
    'The texts of this request change while they are screened; try again.',
    { retryAfter: 1 },
  );
}

interface Beforehand {
  names(needed: NamesNeeded, known: FoundNames | null): Promise<FoundNames>;
  inLongTexts(needed: RedactionNeeded, known: FoundNames | null): Promise<FoundNames>;
}

/** All rounds share one deadline, which begins with the first. */
function beforehand(
  { names: recogniser, longTexts, namesWithinMs = defaultNamesWithinMs }: NameDependencies,
  { identity: { tenantId } }: CallingRequest,
  left: AbortSignal,
): Beforehand {
  let signal: AbortSignal | null = null;
  const search = () => {
    signal ??= AbortSignal.any([left, AbortSignal.timeout(namesWithinMs)]);
    return { tenantId, signal };
  };
  const names: NameRecogniser = {
    find: (...asked) =>
      recogniser.find(...asked).catch((error: unknown) => {
        left.throwIfAborted();
        throw error instanceof RecogniserBusy ? tooManySearches() : unavailable();
      }),
  };
  return {
    names: async (needed, known) => {
      const found = await findNames(names, needed, search());
      return Object.assign(new Map([...(known ?? []), ...found]), { redacted: known?.redacted ?? [] });
    },
    inLongTexts: (needed, known) =>
      redactBeforehand({ names, longTexts }, search(), { needed, known }).catch(overloaded),
  };
}

function unavailable(): DomainError {
  return new DomainError('engine_unavailable', 'The recogniser of names did not answer; try again.', {
    retryAfter: 1,
  });
}

function tooManySearches(): DomainError {
  return new DomainError('overloaded', 'Too many texts are being searched for names; try again.', {
    retryAfter: 2,
  });
}

function overloaded(error: unknown): never {
  throw error instanceof DomainError
    ? error
    : new DomainError('overloaded', 'Too many long texts are being screened; try again.', { retryAfter: 1 });
}
