import type { EntityManager } from '@mikro-orm/postgresql';
import { log } from '@temporalio/activity';
import { setTimeout as sleep } from 'node:timers/promises';
import { hitFailpoint } from '#domain/foundation/kernel/failpoint.ts';
import type { Metrics } from '#domain/foundation/kernel/metrics.ts';
import { saveCallSession, readCallSession } from '#domain/responses/calls/call-sessions.ts';
import { executionError } from '#domain/responses/store/call-items.ts';
import type { CallTarget, ClaimedCall } from '#domain/responses/calls/claim-call.ts';
import type { McpCallError } from '#domain/responses/record/output-items.ts';
import type { CallOutcome } from '#domain/responses/calls/commit-call.ts';
import { truncateResult } from '#domain/responses/store/truncate-result.ts';
import { saveListedTools } from '#domain/capabilities/tools/listed-tools.ts';
import { applyDiscovery } from '#domain/capabilities/tools/apply-discovery.ts';
import {
  ToolServerFailure,
  type SharedSession,
  type ToolReply,
  type ToolServerGateway,
} from '#domain/capabilities/tools/tool-server.ts';
import { retryLater } from '../failures.ts';
import { commitWithRetry } from './commit-with-retry.ts';
import { screenResult } from './screen-call.ts';
import type { ScreeningDependencies } from './screening.ts';
import type { CallHold } from './with-call-lease.ts';

export interface ServerCallDependencies extends ScreeningDependencies {
  toolServers: ToolServerGateway;
  /** The gateway's address for browsers; `http://127.0.0.1:8080` when not given. */
  publicUrl?: string | undefined;
}

type ServerTarget = Extract<CallTarget, { kind: 'mcp' }>;

/** Delays before retries of a server that was not reached. Silence takes its own time, and may end with one connection. */
const retryDelaysMs: Partial<Record<ToolServerFailure['code'], readonly number[]>> = {
  unreachable: [250, 1_000],
  timeout: [250],
};

/**
 * One call at a tool server.
 * @returns null when the lease was lost before the call was sent: its outcome belongs to another attempt
 * @throws an ApplicationFailure when another attempt may succeed
 */
export async function callServer(
  deps: ServerCallDependencies & { metrics: Pick<Metrics, 'toolMisfit'> },
  call: ClaimedCall,
  target: ServerTarget,
  hold: CallHold,
): Promise<CallOutcome | null> {
  const parsed = parseArguments(call.arguments);
  if (parsed === null) {
    const text = 'The arguments must be a JSON object.';
    return failed(text, { type: 'mcp_protocol_error', code: -32_602, message: text });
  }
  hitFailpoint('call.before_effect');
  const reply = await reachServer(deps, call, { target, arguments: parsed, hold });
  hitFailpoint('call.after_effect');
  if (reply instanceof ToolServerFailure) {
    return toFailedOutcome(reply, { target, call, publicUrl: deps.publicUrl });
  }
  switch (reply.kind) {
    case 'unconfirmed':
      return null;
    case 'succeeded': {
      noteMisfit(deps, call, reply);
      const result = truncateResult(await screenResult(deps, call, reply.text));
      const end = { status: 'completed' as const, output: result, results: null };
      // Media cannot be screened for personal data, so redaction drops it.
      const media = call.redaction === undefined ? reply.media : undefined;
      return { outcome: 'succeeded', result, end, ...(media === undefined ? {} : { media }) };
    }
    case 'failed': {
      const text = truncateResult(await screenResult(deps, call, reply.text));
      return failed(
        text,
        reply.error === 'mcp_protocol_error'
          ? { type: reply.error, code: reply.code, message: text }
          : executionError('tool_failed', text),
      );
    }
    case 'changed': {
      const { tools, connectionId } = reply;
      if (target.server.connection?.ownerId != null) {
        // Another person may see other tools: one account's list does not change what all are offered.
        await commitWithRetry(() =>
          deps.unitOfWork.inTenant(call.tenantId, (em) => saveListedTools(em, reply)),
        );
        return target.again ? unknownOutcome() : withheld();
      }
      const askedWith = { credentialId: target.server.stored?.credentialId ?? null, connectionId };
      await commitWithRetry(() =>
        deps.unitOfWork.inTenant(call.tenantId, (em) =>
          applyDiscovery(em, target.serverId, { tools }, askedWith),
        ),
      );
      return target.again ? unknownOutcome() : withheld();
    }
  }
}

/** The result is used all the same; the metric informs the server's operator. */
function noteMisfit(
  { metrics }: { metrics: Pick<Metrics, 'toolMisfit'> },
  call: ClaimedCall,
  { misfit }: Extract<ToolReply, { kind: 'succeeded' }>,
): void {
  if (misfit !== undefined && call.target.kind === 'mcp') {
    metrics.toolMisfit({ problem: misfit });
    const named = { server: call.serverLabel, tool: call.target.tool.slice(0, 128), problem: misfit };
    log.warn('a result is not what the outputSchema of its tool says', named);
  }
}

/** Retries only while nothing of the call has been sent. */
async function reachServer(
  deps: ServerCallDependencies,
  call: ClaimedCall,
  {
    target,
    arguments: args,
    hold,
  }: { target: ServerTarget; arguments: Record<string, unknown>; hold: CallHold },
): Promise<ToolReply | ToolServerFailure> {
  for (let retry = 0; ; retry += 1) {
    try {
      const outgoing = {
        tool: target.tool,
        arguments: args,
        idempotencyKey: call.idempotencyKey,
        schemaHash: target.schemaHash,
      };
      // Never aborted: when a response is cancelled, a started call still finishes, so that the ledger has its
      // outcome.
      const { signal } = new AbortController();
      const session = sessionOf(deps, call, target);
      const confirm = () => hold.confirm();
      const options = { signal, session, confirm, retryRead: commitWithRetry };
      return await deps.toolServers.call(target.server, outgoing, options);
    } catch (error) {
      if (!(error instanceof ToolServerFailure)) {
        throw error;
      }
      const pause = retryDelaysMs[error.code]?.[retry];
      if (error.sent || pause === undefined) {
        return error;
      }
      await sleep(pause);
    }
  }
}

function sessionOf(deps: ServerCallDependencies, call: ClaimedCall, target: ServerTarget): SharedSession {
  const { secrets } = deps;
  const { tenantId, responseId, serverLabel } = call;
  const within = <T>(work: (em: EntityManager) => Promise<T>) =>
    commitWithRetry(() => deps.unitOfWork.inTenant(tenantId, work));
  return {
    name: [tenantId, responseId, target.serverId].join('/'),
    read: () => within((em) => readCallSession({ em, secrets }, call, serverLabel ?? '')),
    save: (session) => within((em) => saveCallSession({ em, secrets }, call, session)),
  };
}

/**
 * A call that may have reached the tool never just fails: it is repeated if the tool allows it, else its outcome is
 * unknown.
 */
function toFailedOutcome(
  failure: ToolServerFailure,
  {
    target,
    call,
    publicUrl,
  }: { target: ServerTarget; call: ClaimedCall; publicUrl: ServerCallDependencies['publicUrl'] },
): CallOutcome {
  if (failure.sent || target.again) {
    // A person's connection does not come back within the retries.
    if (target.repeatable && failure.code !== 'authorization_required') {
      throw retryLater('tool_outcome_in_doubt');
    }
    return unknownOutcome();
  }
  const { connection } = target.server;
  if (failure.code === 'authorization_required' && connection !== undefined) {
    return failed(authorizationText, authorizationError(connection.serverId, { call, publicUrl }));
  }
  const text = 'The tool server could not be reached or refused the call; nothing was done.';
  return failed(text, { type: 'http_error', code: failure.status ?? 0, message: text });
}

const authorizationText =
  'authorization_required: nobody has connected an account at this tool server for this call, or it lacks a permission there. Nothing was done.';

/**
 * A client of the platform begins the authorization at the server that the address names; any other one opens the
 * address, whose page says how. The person asks again in a new response.
 */
function authorizationError(
  serverId: string,
  {
    call: { itemId },
    publicUrl = 'http://127.0.0.1:8080',
  }: { call: ClaimedCall; publicUrl: ServerCallDependencies['publicUrl'] },
): McpCallError {
  const url = new URL(`${publicUrl}/api/v1/mcp-auth/connect`);
  url.searchParams.set('server_id', serverId);
  url.searchParams.set('elicitation_id', itemId);
  return {
    type: 'mcp_tool_execution_error',
    code: 'authorization_required',
    message: authorizationText,
    content: [{ type: 'text', text: authorizationText }],
    elicitation: {
      mode: 'url',
      elicitation_id: itemId,
      url: url.href,
      message: 'Connect an account at this tool server, then ask again.',
    },
  };
}

export function withheld(): CallOutcome {
  const text =
    'This tool was switched off, has changed or came to need approval since it was offered; it was not called.';
  return failed(text, executionError('tool_withheld', text));
}

export function unknownOutcome(): CallOutcome {
  const text =
    'tool_outcome_unknown: the call was sent and its outcome is not known. It may have taken effect. ' +
    'It was not made again.';
  const error = executionError('tool_outcome_unknown', text);
  return { outcome: 'unknown', result: text, end: { status: 'failed', error } };
}

function failed(
  result: string,
  error: Extract<CallOutcome['end'], { status: 'failed' }>['error'],
): CallOutcome {
  return { outcome: 'failed', result, end: { status: 'failed', error } };
}

function parseArguments(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = text.trim() === '' ? {} : JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
