import type { FastifyRequest } from 'fastify';
import type { Context } from '#domain/access/context.ts';
import { findNames, NamesNeeded, type FoundNames } from '#domain/governance/found-names.ts';
import { DomainError } from '#domain/kernel/errors.ts';
import type { GatewayDependencies } from './compose.ts';
import type { SpaceOfCall } from './plugins/unit-of-work.ts';

/** Input first, then what is found in the database with it. */
const mostRounds = 2;

/**
 * Runs a use case that may need a recogniser service: it is asked between two transactions, and the use case begins
 * anew with what it found. Without a service nothing is done twice. @throws `engine_unavailable` when it does not answer
 */
export async function withFoundNames<T>(
  deps: Pick<GatewayDependencies, 'names'>,
  request: Pick<FastifyRequest, 'inContext'>,
  space: SpaceOfCall,
  work: (ctx: Context, names: FoundNames | null) => Promise<T>,
): Promise<T> {
  let names: FoundNames | null = null;
  for (let round = 0; ; round += 1) {
    const known: FoundNames | null = names;
    try {
      return await request.inContext(space, (ctx) => work(ctx, known));
    } catch (error) {
      if (!(error instanceof NamesNeeded) || round === mostRounds) {
        throw error;
      }
      const found = await findNames(deps.names, error).catch((): never => {
        throw new DomainError('engine_unavailable', 'The recogniser of names did not answer; try again.', {
          retryAfter: 1,
        });
      });
      names = new Map([...(known ?? []), ...found]);
    }
  }
}
