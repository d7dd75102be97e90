import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import type { OpenAiCreateBody } from '#api/contract/openai/request.ts';
import type { OpenAiResponse } from '#api/contract/openai/response.ts';
import { openAiEvents } from '#api/present/openai/events.ts';
import { failureOf, unfinished } from '#api/present/openai/failure.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { isTerminal, queueLimitMs } from '#domain/responses/record/response-status.ts';
import { acceptOrResume, type Accepted } from '../responses/accept.ts';
import { toCreateInput } from '../responses/create-input.ts';
import { deliverCreated, locationOf, read, waitAccepted, type Delivery } from '../responses/deliver.ts';
import { requestWithoutTokens, present, requestOf } from './show.ts';
import { toNativeBody, unsupportedTools } from './translate.ts';

interface CreateCall {
  params: { space_id: string };
  headers: { 'idempotency-key'?: string | undefined; 'last-event-id'?: string | undefined };
  body: OpenAiCreateBody;
}

/**
 * `POST …/openai/responses`: the native request in OpenAI's form. Answers with the ended response, or with the reason
 * why it failed; in the background with the response in its current state.
 */
export async function handleOpenAiCreate(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<OpenAiResponse | undefined> {
  const form = formOf(request as FastifyRequest & CreateCall);
  const { streamPlaces } = deps;
  if (form.stream) {
    streamPlaces.assertUnderLimit(request.identity);
  }
  // A waiting caller occupies a stream place, and no connection of the database.
  const leave = form.stream || form.background ? () => {} : streamPlaces.take(request.identity);
  try {
    // A separate function, so that this closure does not hold the request body during the wait.
    const created = await accept(deps, request as FastifyRequest & CreateCall);
    return await answer(deps, request, reply, { ...form, created });
  } finally {
    leave();
  }
}

/** The form of the answer to a create request. */
interface Form {
  stream: boolean;
  background: boolean;
}

const formOf = ({ body }: CreateCall): Form => ({
  stream: toNativeBody(body).stream,
  background: body.background === true,
});

interface Begun extends Accepted, Delivery {
  hasKey: boolean;
}

async function accept(deps: GatewayDependencies, request: FastifyRequest & CreateCall): Promise<Begun> {
  const { params, headers, body } = request;
  const spaceId = params.space_id;
  const input = toCreateInput({
    spaceId,
    body: toNativeBody(body),
    headerKey: headers['idempotency-key'],
    scope: `POST /v1/spaces/${spaceId}/openai/responses`,
    store: body.store ?? true,
    background: body.background ?? false,
    plain: true,
    unsupportedTools: unsupportedTools(body),
  });
  const accepted = await acceptOrResume(deps, request, input, headers['last-event-id']);
  return { ...accepted, spaceId, hasKey: input.idempotency !== null };
}

async function answer(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  { created, stream, background }: Form & { created: Begun },
): Promise<OpenAiResponse | undefined> {
  const { spaceId, responseId, hasKey } = created;
  const delivery = { spaceId, responseId };
  if (created.replayed) {
    reply.header('Idempotent-Replayed', 'true');
  }
  if (stream) {
    const resolvedRequest =
      requestWithoutTokens(created.request) ?? (await requestOf(deps, request, delivery));
    await deliverCreated(deps, request, reply, { ...created, render: openAiEvents(resolvedRequest) });
    return undefined;
  }
  reply.header('Location', locationOf(request, delivery));
  const begun = created.record ?? (await read(deps, request, delivery)).record;
  if (background) {
    return present(deps, request, { ...delivery, record: begun, resolvedRequest: created.request });
  }
  const record = await untilEnd(deps, request, { ...delivery, reply, accepted: begun });
  const failure = failureOf(record);
  if (failure !== null) {
    throw failure;
  }
  if (!isTerminal(record.status)) {
    throw unfinished(record, { draining: deps.draining.value, hasKey });
  }
  return present(deps, request, { ...delivery, record, resolvedRequest: created.request });
}

/** Waits for as long as the response may run. */
function untilEnd(
  deps: GatewayDependencies,
  request: FastifyRequest,
  wait: Delivery & { reply: FastifyReply; accepted: ResponseRecord },
): Promise<ResponseRecord> {
  const { timeout_seconds: timeout } = wait.accepted.platform.governance_applied.limits;
  return waitAccepted(deps, request, { ...wait, seconds: timeout + queueLimitMs / 1_000 });
}
