import '#api/plugins/route-config.ts';
import type { ZodTypeProvider } from '@fastify/type-provider-zod';
import { resolveResponse } from '@trpc/server/http';
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { contentBodyLimit } from '../body-limits.ts';
import type { GatewayDependencies } from '../compose.ts';
import { noteFailure, sendRefusal, type ErrorHandling } from '../plugins/error-handling.ts';
import { toCallError } from './call-errors.ts';
import { appRouter } from './router.ts';

/** Max calls of one batch. */
const maxBatchSize = 20;

/** Query members that tRPC's own clients send. */
const callQuery = z.strictObject({ batch: z.literal('1').optional(), input: z.string().optional() });
const callParams = z.strictObject({ '*': z.string() });

/** The number of calls of a request: each call of a batch counts as a request. */
export function callsOf({ params }: FastifyRequest): number {
  const { '*': paths = '' } = params as { '*'?: string };
  return Math.min(paths.split(',').length, maxBatchSize);
}

/**
 * The typed procedures under the scope's prefix, for tRPC clients. Refusals have the one error shape, in `data.error`.
 */
export function serveProcedures(deps: GatewayDependencies, options: ErrorHandling) {
  return async (instance: FastifyInstance): Promise<void> => {
    const app = instance.withTypeProvider<ZodTypeProvider>();
    app.setErrorHandler(async (error: FastifyError, request, reply) => {
      const known = await noteFailure(request, error, options);
      return sendRefusal(request, reply, { error: known }).send({ error: toCallError(known, request.id) });
    });
    app.setNotFoundHandler(async (request, reply) => {
      const known = new DomainError('method_not_allowed', 'Procedures take GET and POST.', {
        allow: ['GET', 'POST'],
      });
      return sendRefusal(request, reply, { error: known }).send({ error: toCallError(known, request.id) });
    });
    app.route({
      method: ['GET', 'POST'],
      url: '/*',
      exposeHeadRoute: false,
      // Inputs include messages of a thread.
      bodyLimit: contentBodyLimit,
      config: { audit: { none: 'each procedure declares its own' } },
      schema: { hide: true, params: callParams, querystring: callQuery },
      handler: async (request, reply) => {
        let began = false;
        const answer = await resolveResponse({
          router: appRouter,
          req: asFetched(request),
          path: request.params['*'],
          error: null,
          maxBatchSize,
          createContext: async () => {
            began = true;
            return {
              deps,
              request,
              noteFailure: async (error) => void (await noteFailure(request, error, options)),
            };
          },
        });
        if (!began) {
          throw new DomainError(
            'invalid_request',
            `A call names up to ${maxBatchSize} procedures of one kind.`,
          );
        }
        return reply
          .status(answer.status)
          .header('Cache-Control', 'no-store')
          .type('application/json; charset=utf-8')
          .serializer(String)
          .send(await answer.text());
      },
    });
  };
}

/** Passes the body, which was parsed and validated like every other, to tRPC as a new request. */
function asFetched(request: FastifyRequest): Request {
  const url = new URL(request.url, 'http://gateway');
  const headers = { 'content-type': 'application/json' };
  const body = request.body === undefined ? null : JSON.stringify(request.body);
  return new Request(url, request.method === 'POST' ? { method: 'POST', headers, body } : { headers });
}
