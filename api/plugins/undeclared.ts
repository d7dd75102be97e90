import type { FastifyInstance } from 'fastify';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { fromIssues } from '#domain/foundation/validation/from-issues.ts';

/** An operation without a declared query or body refuses one: ignored input must not look accepted. */
export function rejectUndeclared(app: FastifyInstance): void {
  app.addHook('preValidation', async (request) => {
    const { schema } = request.routeOptions;
    if (schema?.querystring === undefined) {
      rejectUnknown(request.query, 'query');
    }
    if (schema?.body === undefined) {
      rejectUnknown(request.body, 'body');
    }
  });
}

function rejectUnknown(value: unknown, place: 'query' | 'body'): void {
  if (value === undefined || value === null) {
    return;
  }
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new DomainError('invalid_request', 'This operation takes no body.');
  }
  const [key] = Object.keys(value);
  if (key !== undefined) {
    throw fromIssues([{ code: 'unrecognized_keys', path: [], keys: [key] }], place);
  }
}
