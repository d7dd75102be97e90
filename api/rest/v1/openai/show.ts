import type { FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import type { OpenAiResponse } from '#api/contract/openai/response.ts';
import { presentOpenAiResponse, presentSettings } from '#api/present/openai/response.ts';
import { DomainError } from '#domain/foundation/kernel/errors.ts';
import { showRestored } from '#domain/conversations/threads/show-restored.ts';
import { readRequest } from '#domain/responses/record/read-request.ts';
import { findOwn } from '#domain/responses/store/response-access.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import type { ResponseRequest } from '#domain/responses/record/response-request.ts';
import { read, type Delivery } from '../responses/deliver.ts';

/** The request of a response that the caller has just read. @throws when it has expired since */
export async function requestOf(
  deps: GatewayDependencies,
  request: FastifyRequest,
  { spaceId, responseId }: Delivery,
): Promise<ResponseRequest> {
  const { tenantId } = request.identity;
  const resolvedRequest = await readRequest(deps.database, { tenantId, responseId });
  if (resolvedRequest === null) {
    throw new DomainError('response_expired', 'This response has expired.');
  }
  if (resolvedRequest.redaction === undefined) {
    return resolvedRequest;
  }
  return request.inContext(spaceId, async (ctx) =>
    showRestored(ctx, await findOwn(ctx, responseId, 'responses.read'), resolvedRequest),
  );
}

/** The request resolved at acceptance, unless it contains tokens whose values its reader may see. */
export function requestWithoutTokens(
  resolvedRequest: ResponseRequest | null | undefined,
): ResponseRequest | null {
  return resolvedRequest?.redaction === undefined ? (resolvedRequest ?? null) : null;
}

/** A record that the caller may read, in OpenAI's form. */
export async function present(
  deps: GatewayDependencies,
  request: FastifyRequest,
  shown: Delivery & { record: ResponseRecord; resolvedRequest?: ResponseRequest | null },
): Promise<OpenAiResponse> {
  const resolvedRequest =
    requestWithoutTokens(shown.resolvedRequest) ?? (await requestOf(deps, request, shown));
  return presentOpenAiResponse(shown.record, presentSettings(resolvedRequest));
}

/** The response in its current state, in OpenAI's form. @throws not found, expired, deleted or a refusal */
export async function show(
  deps: GatewayDependencies,
  request: FastifyRequest,
  delivery: Delivery,
): Promise<OpenAiResponse> {
  const { record } = await read(deps, request, delivery);
  return present(deps, request, { ...delivery, record });
}
