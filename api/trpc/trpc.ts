import { initTRPC } from '@trpc/server';
import type { FastifyRequest } from 'fastify';
import type { Permission } from '#domain/foundation/access/permissions.ts';
import type { EventType } from '#domain/foundation/events/catalogue.ts';
import type { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { GatewayDependencies } from '../compose.ts';
import { checkWellFormed } from '../plugins/well-formed.ts';
import { fromCall, toCallError } from './call-errors.ts';

/** Context of every procedure: the authenticated request, and the gateway's parts. */
export interface CallContext {
  deps: GatewayDependencies;
  request: FastifyRequest;
  /** Logs a failed call, and records a refusal in the event log. */
  noteFailure(error: DomainError): Promise<void>;
}

/** Required permission and recorded events; the use case enforces both. */
export type Declaration = {
  /** Audit events that the operation records, or the reason for none. */
  audit: readonly EventType[] | { none: string };
} & (
  | {
      permission: Permission;
      /** Names an operation that needs no grant. */
      own?: string;
    }
  /** An operation on the caller itself only. */
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

/** Reads are not audited. */
export const reads = { none: 'reads' } as const;

/** A procedure with its declaration. Input that cannot be stored is refused before it is parsed. */
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
