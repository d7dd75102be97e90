import { serializerCompiler, validatorCompiler } from '@fastify/type-provider-zod';
import { z } from 'zod';
import { namingKnownFields } from '#domain/foundation/validation/unknown-field.ts';
import { fastify, LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import { recordRefusal } from '#domain/identity/principals/record-refusal.ts';
import { recordLimitReached } from '#domain/responses/accept/record-limit-reached.ts';
import { bodyLimit } from './body-limits.ts';
import type { GatewayDependencies } from './compose.ts';
import { RequestLimits } from './limits/request-limits.ts';
import { limitArrival, maxArrivalMs } from './plugins/arrival.ts';
import { authenticate, createCredentialVerifier } from './plugins/authentication.ts';
import { answerClientError, rejectOddRequests } from './plugins/client-errors.ts';
import { answerFrameworkError, handleErrors, type ErrorHandling } from './plugins/error-handling.ts';
import { serveHealth } from './plugins/health.ts';
import { readJsonBodies } from './plugins/json-body.ts';
import { discardRefusedBodies } from './plugins/refused-bodies.ts';
import { rejectWhileDraining } from './plugins/draining.ts';
import { describeApi } from './plugins/openapi.ts';
import { closePromptly } from './plugins/prompt-close.ts';
import { originOf, provideContext } from './plugins/unit-of-work.ts';
import { redirectBrowsers } from './plugins/redirect-browsers.ts';
import { limitRequests, rateLimiter } from './plugins/rate-limits.ts';
import { logRequests } from './plugins/request-log.ts';
import { newRequestId } from './plugins/request-id.ts';
import { forbidStoring, sendSecureHeaders } from './plugins/secure-headers.ts';
import { dropStalledReaders } from './plugins/stalled-readers.ts';
import { withoutTrailingSlash } from './plugins/trailing-slash.ts';
import { rejectUndeclared } from './plugins/undeclared.ts';
import { requireWellFormed } from './plugins/well-formed.ts';
import { signedInPage } from './pages/signed-in.ts';
import { restV1 } from './rest/v1/index.ts';
import { callsOf, serveProcedures } from './trpc/serve.ts';

/** Builds the gateway's Fastify instance, which does not listen yet. */
export async function buildApp(deps: GatewayDependencies): Promise<FastifyInstance> {
  const logger: FastifyBaseLogger = deps.logger;
  const app = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: newRequestId,
    requestIdHeader: false,
    bodyLimit,
    trustProxy: deps.config.TRUSTED_PROXIES.length > 0 ? deps.config.TRUSTED_PROXIES : false,
    requestTimeout: maxArrivalMs,
    connectionTimeout: 0,
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    http: { maxHeaderSize: 16 * 1024, headersTimeout: 15_000, requireHostHeader: false },
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: 200 },
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
    rewriteUrl: withoutTrailingSlash,
    frameworkErrors: answerFrameworkError,
    clientErrorHandler: answerClientError,
  });
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('X-Request-Id', request.id);
    done();
  });
  closePromptly(app);
  dropStalledReaders(app);
  rejectOddRequests(app);
  limitArrival(app);
  discardRefusedBodies(app);
  rejectWhileDraining(app, deps);
  logRequests(app, deps);
  const errors: ErrorHandling = {
    onRefusal: async (request, error) => {
      // A sign-in has no identity yet: its use case records the event itself.
      if (request.hasIdentity()) {
        const record = error.detail.reached === undefined ? recordRefusal : recordLimitReached;
        const origin = originOf(request, deps.secrets);
        await record(deps.unitOfWork, request.identity, { error, origin });
      }
    },
  };
  // Also for the schemas of procedures and forms.
  z.config({ customError: namingKnownFields });
  handleErrors(app, errors);
  readJsonBodies(app);
  await sendSecureHeaders(app);
  serveHealth(app, deps);
  redirectBrowsers(app);
  if (deps.config.DEMO_PAGES === '1') {
    await app.register(signedInPage(deps));
  }
  const verifier = createCredentialVerifier(deps);
  const limiter = rateLimiter(new RequestLimits(deps.database, deps.config));
  const rest = restV1(deps);
  // One route table, mounted under both prefixes.
  for (const prefix of ['/api', '/api-proxy']) {
    await app.register(
      async (scope) => {
        scope.setValidatorCompiler(validatorCompiler);
        scope.setSerializerCompiler(serializerCompiler);
        await describeApi(scope, prefix);
        await scope.register(async (operations) => {
          limitRequests(operations, limiter, { authenticate: () => authenticate(operations, verifier) });
          requireWellFormed(operations);
          rejectUndeclared(operations);
          forbidStoring(operations);
          provideContext(operations, deps);
          await operations.register(rest, { prefix: '/v1' });
        });
        await scope.register(async (procedures) => {
          const authenticated = () => authenticate(procedures, verifier);
          limitRequests(procedures, limiter, { authenticate: authenticated, costOf: callsOf });
          requireWellFormed(procedures);
          provideContext(procedures, deps);
          await procedures.register(serveProcedures(deps, errors), { prefix: '/trpc' });
        });
      },
      { prefix },
    );
  }
  return app;
}
