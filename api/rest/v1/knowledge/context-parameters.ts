import type { z } from 'zod';
import type { contextBody, contextQuery } from '#api/contract/search.ts';
import { DomainError, type FieldError } from '#domain/foundation/kernel/errors.ts';

type Parameters = z.infer<typeof contextQuery> & z.infer<typeof contextBody>;

/**
 * The parameters of both places; a parameter in both must have the same value in both.
 * @throws `invalid_request`
 */
export function joinParameters(query: Parameters, body: Parameters): Parameters & { question: string } {
  for (const name of ['question', 'collection_ids', 'alpha'] as const) {
    const [one, other] = [query[name], body[name]];
    if (one !== undefined && other !== undefined && JSON.stringify(one) !== JSON.stringify(other)) {
      throw refused(name, 'body', 'has another value in the query');
    }
  }
  const { question, ...rest } = { ...query, ...body };
  if (question === undefined) {
    throw refused('question', 'query', 'is missing');
  }
  return { ...rest, question };
}

function refused(name: keyof Parameters, place: FieldError['in'], message: string): DomainError {
  return new DomainError('invalid_request', `\`${name}\` ${message}.`, {
    param: name,
    errors: [{ in: place, pointer: `/${name}`, code: 'invalid', message }],
  });
}
