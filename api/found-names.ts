import type { FastifyRequest } from 'fastify';
import type { Context } from '#domain/foundation/access/context.ts';
import {
  findNames,
  NamesNeeded,
  redactBeforehand,
  RedactionNeeded,
  type FoundNames,
} from '#domain/governance/redaction/found-names.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { GatewayDependencies } from './compose.ts';
import type { SpaceOfCall } from './plugins/unit-of-work.ts';

/** Max rounds of each kind: names in the input first, then in texts that the database adds. */
const maxRounds = 2;

/**
 * Runs a use case that may need a recogniser service, or long texts redacted in a thread. That work is done between two
 * transactions, and the use case then restarts with its result. If neither is needed the use case runs once.
 * @throws `engine_unavailable` when the service does not answer, `overloaded` when no thread is free in time
 */
export async function withFoundNames<T>(
  deps: Pick<GatewayDependencies, 'names' | 'longTexts'>,
  request: Pick<FastifyRequest, 'inContext'>,
  space: SpaceOfCall,
  work: (ctx: Context, names: FoundNames | null) => Promise<T>,
): Promise<T> {
  let names = null as FoundNames | null;
  const rounds = { asked: 0, redacted: 0 };
  for (;;) {
    const known = names;
    let begun: Context | null = null;
    try {
      return await request.inContext(space, (ctx) => {
        begun = ctx;
        return work(ctx, known);
      });
    } catch (error) {
      if (error instanceof NamesNeeded && rounds.asked < maxRounds) {
        rounds.asked += 1;
        const found = await findNames(deps.names, error).catch(unavailable);
        names = Object.assign(new Map([...(known ?? []), ...found]), {
          redacted: known?.redacted ?? [],
        });
      } else if (error instanceof RedactionNeeded && rounds.redacted < maxRounds) {
        rounds.redacted += 1;
        names = await redactBeforehand(
          {
            names: { find: (...asked) => deps.names.find(...asked).catch(unavailable) },
            longTexts: deps.longTexts,
          },
          (begun as Context | null)?.caller.tenantId ?? '',
          { needed: error, known },
        ).catch(overloaded);
      } else {
        throw error;
      }
    }
  }
}

function unavailable(): never {
  throw new DomainError('engine_unavailable', 'The recogniser of names did not answer; try again.', {
    retryAfter: 1,
  });
}

function overloaded(error: unknown): never {
  throw error instanceof DomainError
    ? error
    : new DomainError('overloaded', 'Too many long texts are being screened; try again.', { retryAfter: 1 });
}
