import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import type { OpenAiCreateBody } from '#api/contract/openai/request.ts';
import type { OpenAiResponse } from '#api/contract/openai/response.ts';
import { openAiEvents } from '#api/present/openai/events.ts';
import type { CreateResponseInput } from '#domain/responses/create-input.ts';
import type { ResponseRecord } from '#domain/responses/response-record.ts';
import { queueLimitMs } from '#domain/responses/response-status.ts';
import { acceptOrResume } from '../responses/accept.ts';
import { toCreateInput } from '../responses/create-input.ts';
import { deliverCreated, locationOf, read, waitAccepted, type Delivery } from '../responses/deliver.ts';
import { plainly, present, requestOf } from './show.ts';
import { toNativeBody } from './translate.ts';

interface CreateCall {
  params: { space_id: string };
  headers: { 'idempotency-key'?: string | undefined; 'last-event-id'?: string | undefined };
  body: OpenAiCreateBody;
}

/**
 * `POST …/openai/responses`: the native request under another name. Answers with the ended response, unless
 * it runs in the background or this process stops before: then with the response as it stands.
 */
export async function handleOpenAiCreate(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<OpenAiResponse | undefined> {
  const { params, headers, body } = request as FastifyRequest & CreateCall;
  const spaceId = params.space_id;
  const native = toNativeBody(body);
  const input = toCreateInput({
    spaceId,
    body: native,
    headerKey: headers['idempotency-key'],
    scope: `POST /v1/spaces/${spaceId}/openai/responses`,
    store: body.store ?? true,
    background: body.background ?? false,
  });
  const { streamPlaces } = deps;
  if (native.stream) {
    streamPlaces.refuseMore(request.identity);
    return answer(deps, request, reply, { input, body, stream: true });
  }
  // Whoever waits takes the place of a stream, and no connection of the database.
  const leave = body.background === true ? () => {} : streamPlaces.take(request.identity);
  try {
    return await answer(deps, request, reply, { input, body, stream: false });
  } finally {
    leave();
  }
}

async function answer(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  { input, body, stream }: { input: CreateResponseInput; body: OpenAiCreateBody; stream: boolean },
): Promise<OpenAiResponse | undefined> {
  const { spaceId } = input;
  const { headers } = request as FastifyRequest & CreateCall;
  const created = await acceptOrResume(deps, request, input, headers['last-event-id']);
  const delivery = { spaceId, responseId: created.responseId };
  if (created.replayed) {
    reply.header('Idempotent-Replayed', 'true');
  }
  if (stream) {
    const settled = plainly(created.request) ?? (await requestOf(deps, request, delivery));
    await deliverCreated(deps, request, reply, { ...created, ...delivery, render: openAiEvents(settled) });
    return undefined;
  }
  reply.header('Location', locationOf(request, delivery));
  const begun = created.record ?? (await read(deps, request, delivery)).record;
  const record =
    body.background === true ? begun : await untilEnd(deps, request, { ...delivery, reply, accepted: begun });
  return present(deps, request, { ...delivery, record, settled: created.request });
}

/** Waits as long as the response may take. */
function untilEnd(
  deps: GatewayDependencies,
  request: FastifyRequest,
  wait: Delivery & { reply: FastifyReply; accepted: ResponseRecord },
): Promise<ResponseRecord> {
  const { timeout_seconds: timeout } = wait.accepted.platform.governance_applied.limits;
  return waitAccepted(deps, request, { ...wait, seconds: timeout + queueLimitMs / 1_000 });
}
