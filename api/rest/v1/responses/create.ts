import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import type { CreateResponseBody } from '#api/contract/responses.ts';
import type { CreateResponseInput } from '#domain/responses/create-input.ts';
import type { ResponseRecord } from '#domain/responses/response-record.ts';
import { isTerminal } from '#domain/responses/response-status.ts';
import { acceptOrResume } from './accept.ts';
import { toCreateInput } from './create-input.ts';
import { deliverCreated, locationOf, read, waitAccepted } from './deliver.ts';

export interface CreateCall {
  params: { space_id: string };
  headers: {
    'idempotency-key'?: string | undefined;
    'last-event-id'?: string | undefined;
    prefer?: string | undefined;
  };
  body: CreateResponseBody;
}

/** `POST …/responses`: accepts, and answers in the form that was asked for. */
export async function handleCreate(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<{ data: ResponseRecord } | undefined> {
  const { params, headers, body } = request as FastifyRequest & CreateCall;
  const spaceId = params.space_id;
  const input = toCreateInput({
    spaceId,
    body,
    headerKey: headers['idempotency-key'],
    scope: `POST /v1/spaces/${spaceId}/responses`,
  });
  const seconds = waitSeconds(headers.prefer);
  if (body.stream) {
    deps.streamPlaces.refuseMore(request.identity);
  }
  // Whoever waits takes the place of a stream, and no connection of the database.
  const leave = body.stream || seconds === null ? () => {} : deps.streamPlaces.take(request.identity);
  try {
    return await answer(deps, request, reply, { input, stream: body.stream, seconds });
  } finally {
    leave();
  }
}

interface Answering {
  input: CreateResponseInput;
  stream: boolean;
  /** How long the caller waits; null when it does not. */
  seconds: number | null;
}

async function answer(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  { input, stream, seconds }: Answering,
): Promise<{ data: ResponseRecord } | undefined> {
  const { spaceId } = input;
  const { headers } = request as FastifyRequest & CreateCall;
  const created = await acceptOrResume(deps, request, input, headers['last-event-id']);
  const delivery = { spaceId, responseId: created.responseId };
  if (created.replayed) {
    reply.header('Idempotent-Replayed', 'true');
  }
  if (stream) {
    await deliverCreated(deps, request, reply, { ...created, ...delivery });
    return undefined;
  }
  reply.header('Location', locationOf(request, delivery));
  if (seconds === null) {
    const record = created.record ?? (await read(deps, request, delivery)).record;
    reply.status(created.replayed ? 200 : 202);
    return { data: record };
  }
  const record = await waitAccepted(deps, request, { ...delivery, seconds, reply, accepted: created.record });
  reply.header('Preference-Applied', `wait=${seconds}`);
  reply.status(created.replayed || isTerminal(record.status) ? 200 : 202);
  return { data: record };
}

/** `Prefer: wait=<seconds>`, at most 60; null when it was not asked for. */
function waitSeconds(prefer: string | undefined): number | null {
  const match = /(?:^|[,;\s])wait=(\d{1,4})(?:$|[,;\s])/.exec(prefer ?? '');
  return match === null ? null : Math.min(Number(match[1]), 60);
}
