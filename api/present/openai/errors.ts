import { DomainError } from '#domain/foundation/kernel/errors.ts';

const surface = /^\/api(?:-proxy)?\/v1\/spaces\/[^/?]*\/openai(?:[/?]|$)/;

/** Whether an address lies on the OpenAI-compatible surface, whether or not there is anything at it. */
export function isOpenAiPath(url: string): boolean {
  return surface.test(url);
}

const operations =
  'GET /models, GET /models/{model}, POST /responses, GET and DELETE /responses/{response_id}, ' +
  'POST /responses/{response_id}/cancel and GET /responses/{response_id}/input_items';

/** What is said of a path at which there is nothing. */
export function nothingAt(url: string): string {
  const nothing = 'There is nothing at this path.';
  return isOpenAiPath(url) ? `${nothing} Below …/openai there are ${operations}.` : nothing;
}

/**
 * An error as OpenAI's clients know it: what is wrong with a request is a 400 that names the parameter as it
 * stands in their body, and so is what cannot be cancelled any more or follows nothing.
 */
export function toOpenAiError(error: DomainError, status: number): { error: DomainError; status: number } {
  const { detail, code } = error;
  const param = code === 'previous_response_not_found' ? 'previous_response_id' : detail.param;
  const shown =
    param === undefined
      ? error
      : new DomainError(code, error.message, { ...detail, param: param.replace(/^platform\./, '') });
  return { error: shown, status: isBadRequest(code, status) ? 400 : status };
}

function isBadRequest(code: DomainError['code'], status: number): boolean {
  return status === 422 || code === 'previous_response_not_found' || code === 'response_not_cancellable';
}
