import type { FastifyInstance } from 'fastify';
import type { GatewayDependencies } from '../compose.ts';

/** One line and one measurement per request. */
export function logRequests(app: FastifyInstance, { logger, telemetry }: GatewayDependencies): void {
  // The line has a fixed set of fields, so redaction is not needed.
  const log = logger.child({}, { redact: [] });
  app.addHook('onResponse', (request, reply, done) => {
    const { method } = request;
    const { config, url: route = 'unknown' } = request.routeOptions;
    const { statusCode: status, elapsedTime } = reply;
    telemetry.request({ route, method, status, seconds: elapsedTime / 1_000 });
    if (!('public' in config)) {
      log.info({ reqId: request.id, method, route, status, ms: Math.round(elapsedTime) }, 'request');
    }
    done();
  });
}
