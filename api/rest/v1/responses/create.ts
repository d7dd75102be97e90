import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GatewayDependencies } from '#api/compose.ts';
import type { CreateResponseBody } from '#api/contract/responses.ts';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import { isTerminal } from '#domain/responses/record/response-status.ts';
import { acceptOrResume, type Accepted } from './accept.ts';
import { toCreateInput } from './create-input.ts';
import { deliverCreated, locationOf, read, waitAccepted, type Delivery } from './deliver.ts';

export interface CreateCall {
  params: { space_id: string };
  headers: {
    'idempotency-key'?: string | undefined;
    'last-event-id'?: string | undefined;
    prefer?: string | undefined;
  };
  body: CreateResponseBody;
}

/** The form of the answer to a create request. */
interface Form {
  stream: boolean;
  /** How long the caller waits; null without a wait. */
  seconds: number | null;
}

/** `POST …/responses`: accepts, and answers in the requested form. */
export async function handleCreate(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<{ data: ResponseRecord } | undefined> {
  const form = formOf(request as FastifyRequest & CreateCall);
  if (form.stream) {
    deps.streamPlaces.assertUnderLimit(request.identity);
  }
  // A waiting caller occupies a stream place, and no connection of the database.
  const leave = form.stream || form.seconds === null ? () => {} : deps.streamPlaces.take(request.identity);
  try {
    // A separate function, so that this closure does not hold the request body during the wait.
    const created = await accept(deps, request as FastifyRequest & CreateCall);
    return await answer(deps, request, reply, { ...form, created });
  } finally {
    leave();
  }
}

const formOf = ({ body, headers }: CreateCall): Form => ({
  stream: body.stream,
  seconds: waitSeconds(headers.prefer),
});

async function accept(
  deps: GatewayDependencies,
  request: FastifyRequest & CreateCall,
): Promise<Accepted & Delivery> {
  const { params, headers, body } = request;
  const spaceId = params.space_id;
  const input = toCreateInput({
    spaceId,
    body,
    headerKey: headers['idempotency-key'],
    scope: `POST /v1/spaces/${spaceId}/responses`,
  });
  return { ...(await acceptOrResume(deps, request, input, headers['last-event-id'])), spaceId };
}

async function answer(
  deps: GatewayDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  { created, stream, seconds }: Form & { created: Accepted & Delivery },
): Promise<{ data: ResponseRecord } | undefined> {
  const { spaceId, responseId } = created;
  const delivery = { spaceId, responseId };
  if (created.replayed) {
    reply.header('Idempotent-Replayed', 'true');
  }
  if (stream) {
    await deliverCreated(deps, request, reply, created);
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

/** `Prefer: wait=<seconds>`, at most 60; null without it. */
function waitSeconds(prefer: string | undefined): number | null {
  const match = /(?:^|[,;\s])wait=(\d{1,4})(?:$|[,;\s])/.exec(prefer ?? '');
  return match === null ? null : Math.min(Number(match[1]), 60);
}
