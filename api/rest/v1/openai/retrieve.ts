import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import type { OpenAiResponse } from '#api/contract/openai/response.ts';
import { openAiEvents } from '#api/present/openai/events.ts';
import { unsupported } from '#domain/foundation/kernel/errors.ts';
import { deliverStream, read } from '../responses/deliver.ts';
import { cursorOfReader, wantsStream, type ReadQuery } from '../responses/get.ts';
import { requestOf, show } from './show.ts';

interface RetrieveCall {
  params: { space_id: string; response_id: string };
  query: ReadQuery & Including;
}

/** `GET …/openai/responses/{id}`: the response, or its events after the reader's cursor. */
export async function handleOpenAiRetrieve(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<OpenAiResponse | undefined> {
  const { params, query } = request as FastifyRequest & RetrieveCall;
  const delivery = { spaceId: params.space_id, responseId: params.response_id };
  rejectIncluding(query);
  if (!wantsStream(request, query)) {
    return show(deps, request, delivery);
  }
  const current = await read(deps, request, delivery);
  const render = openAiEvents(await requestOf(deps, request, delivery));
  const cursor = cursorOfReader(request, query, delivery.responseId);
  await deliverStream(deps, request, reply, { ...delivery, ...cursor, current, render });
  return undefined;
}

export interface Including {
  include?: unknown;
  'include[]'?: unknown;
}

/** @throws `unsupported_parameter`: a reader cannot request more content than the creator */
export function rejectIncluding(query: Including): void {
  if (query.include !== undefined || query['include[]'] !== undefined) {
    throw unsupported('include', 'include is taken when a response is created.');
  }
}
