import type { FastifyRequest } from 'fastify';
import type { Context } from '#domain/access/context.ts';
import { findNames, NamesNeeded, type FoundNames } from '#domain/governance/found-names.ts';
import { DomainError } from '#domain/kernel/errors.ts';
import type { GatewayDependencies } from './compose.ts';

/**
 * Runs a use case that may need a recogniser service: it is asked between two transactions, and the use case begins
 * anew with what it found. Without a service nothing is done twice. @throws `engine_unavailable` when it does not answer
 */
export async function withFoundNames<T>(
  deps: Pick<GatewayDependencies, 'names'>,
  request: FastifyRequest,
  spaceId: string,
  work: (ctx: Context, names: FoundNames | null) => Promise<T>,
): Promise<T> {
  try {
    return await request.inContext(spaceId, (ctx) => work(ctx, null));
  } catch (error) {
    if (!(error instanceof NamesNeeded)) {
      throw error;
    }
    const names = await findNames(deps.names, error).catch((): never => {
      throw new DomainError('engine_unavailable', 'The recogniser of names did not answer; try again.', {
        retryAfter: 1,
      });
    });
    return request.inContext(spaceId, (ctx) => work(ctx, names));
  }
}
