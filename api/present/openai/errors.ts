import { DomainError } from '#domain/foundation/kernel/errors.ts';

const surface = /^\/api(?:-proxy)?\/v1\/spaces\/[^/?]*\/openai(?:[/?]|$)/;

/** Whether a path is on the OpenAI-compatible surface, whether or not it exists. */
export function isOpenAiPath(url: string): boolean {
  return surface.test(url);
}

const operations =
  'GET /models, GET /models/{model}, POST /responses, GET and DELETE /responses/{response_id}, ' +
  'POST /responses/{response_id}/cancel and GET /responses/{response_id}/input_items';

/** Error message for a path that does not exist. */
export function nothingAt(url: string): string {
  const nothing = 'There is nothing at this path.';
  return isOpenAiPath(url) ? `${nothing} Below …/openai there are ${operations}.` : nothing;
}

/**
 * An error in the form of OpenAI's clients: a validation error is a 400 that names the parameter of their body; a
 * response that can no longer be cancelled or continued is a 400 too.
 */
export function toOpenAiError(error: DomainError, status: number): { error: DomainError; status: number } {
  const { detail, code } = error;
  const { param } = detail;
  const shown =
    param === undefined
      ? error
      : new DomainError(code, error.message, { ...detail, param: param.replace(/^platform\./, '') });
  return { error: shown, status: isBadRequest(code, status) ? 400 : status };
}

function isBadRequest(code: DomainError['code'], status: number): boolean {
  return status === 422 || code === 'previous_response_not_found' || code === 'response_not_cancellable';
}
