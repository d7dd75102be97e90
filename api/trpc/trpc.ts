import { initTRPC } from '@trpc/server';
import type { FastifyRequest } from 'fastify';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import type { EventType } from '#domain/foundation/events/catalogue.ts';
import type { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { GatewayDependencies } from '../compose.ts';
import { checkWellFormed } from '../plugins/well-formed.ts';
import { fromCall, toCallError } from './call-errors.ts';

/** What every procedure gets: the request with its proved identity, and the gateway's parts. */
export interface CallContext {
  deps: GatewayDependencies;
  request: FastifyRequest;
  /** Writes a failed call into the log, and a refusal into the event log. */
  noteFailure(error: DomainError): Promise<void>;
}

/** What the operation needs and writes. The use case is the truth, this its declaration. */
export type Declaration = {
  /** The audit events that it writes, or why it writes none. */
  audit: readonly EventType[] | { none: string };
} & (
  | {
      permission: Permission;
      /** What needs no grant. */
      own?: string;
    }
  /** It is about nothing else. */
  | { permission?: undefined; own: string }
);

const t = initTRPC
  .context<CallContext>()
  .meta<Declaration>()
  .create({
    isDev: false,
    errorFormatter: ({ error, ctx }) => toCallError(fromCall(error), ctx?.request.id ?? ''),
  });

export const { router } = t;

/** Reads whose answers nobody has to account for. */
export const reads = { none: 'reads' } as const;

/** A procedure with what it declares. Input that nothing behind could store is refused before it is read. */
export function procedure(declaration: Declaration) {
  return t.procedure.meta(declaration).use(async ({ ctx, next, path, getRawInput }) => {
    const began = performance.now();
    checkWellFormed(await getRawInput());
    const result = await next();
    const error = result.ok ? null : fromCall(result.error);
    if (error !== null) {
      await ctx.noteFailure(error);
    }
    ctx.request.log.info(
      { procedure: path, code: error?.code ?? 'ok', ms: Math.round(performance.now() - began) },
      'procedure',
    );
    return result;
  });
}
