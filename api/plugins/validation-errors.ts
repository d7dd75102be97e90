import type { FastifyError } from 'fastify';
import type { DomainError } from '#domain/foundation/kernel/errors.ts';
import type { Issue } from '#domain/foundation/validation/explain-issue.ts';
import { fromIssues } from '#domain/foundation/validation/from-issues.ts';

export type ValidationError = Pick<FastifyError, 'validation'> & {
  validationContext?: keyof typeof placeOf;
};

const placeOf = { body: 'body', querystring: 'query', params: 'path', headers: 'header' } as const;

/** Of a request that does not fit the schema of its route. `body`: the request body. */
export function fromValidation(error: ValidationError, body?: unknown): DomainError {
  const issues = (error.validation ?? []).map(({ keyword, instancePath, params, message }): Issue => ({
    ...params,
    code: keyword,
    message,
    path: instancePath.split('/').filter(Boolean),
  }));
  const place = placeOf[error.validationContext ?? 'body'];
  return fromIssues(issues, place, place === 'body' ? body : undefined);
}
