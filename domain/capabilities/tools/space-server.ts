import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { validate } from 'uuid';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { McpServer } from './mcp-server.entity.ts';
import { toSpec } from './server-spec.ts';
import type { ToolServerSpec } from './tool-server.ts';

/** A tool server for a use that is of the space, not of a person, or why it does not serve one. */
export type SpaceServer = ToolServerSpec | ServerProblem;

export type ServerProblem = 'missing' | 'disabled' | 'personal' | 'variable';

/** One sentence each, for administrators. */
export const serverProblems: Readonly<Record<ServerProblem, string>> = {
  missing: 'The space has no tool server with this id.',
  disabled: 'The tool server is disabled: enable it, or name another one.',
  personal:
    'The tool server is used with the account of each person, and a connector acts for the space: give the server a shared connection or a stored credential.',
  variable:
    'The credential of the tool server is a variable of the worker, which serves tool calls alone: give the server a stored credential.',
};

interface ServerUse {
  serverId: string;
  spaceId: string;
  /** For whom its credential is used. */
  principalId: string;
}

/** The server as it is now: read again for each piece of work, so that a change of the server takes effect. */
export async function readSpaceServer(em: EntityManager, use: ServerUse): Promise<SpaceServer> {
  return toSpaceServer(await find(em, use, LockMode.NONE), use.principalId);
}

/**
 * Refuses a server that does not serve the space, and locks it against removal until the transaction ends. One of another
 * tenant or space is refused like an unknown one. A caller who names a server has it called with its credential, as with
 * a tool call.
 * @param param the place of the id, for the refusal
 * @throws `missing_permission`, `invalid_request`
 */
export async function requireSpaceServer(
  { caller, em }: Context,
  at: { serverId: string; spaceId: string },
  param: string,
): Promise<void> {
  authorize(caller, 'tools.execute');
  const server = toSpaceServer(await find(em, at, LockMode.PESSIMISTIC_READ), caller.principalId);
  if (typeof server === 'string') {
    throw invalid(param, serverProblems[server]);
  }
}

/** Waits for a change of a server, or of its account, that is under way, and holds off the next one. */
export async function shareServer(em: EntityManager, serverId: string): Promise<void> {
  await em.findOne(McpServer, { id: serverId }, { lockMode: LockMode.PESSIMISTIC_READ, refresh: true });
}

async function find(
  em: EntityManager,
  { serverId: id, spaceId }: Pick<ServerUse, 'serverId' | 'spaceId'>,
  lockMode: LockMode,
): Promise<McpServer | null> {
  return validate(id) ? em.findOne(McpServer, { id, spaceId }, { lockMode, refresh: true }) : null;
}

function toSpaceServer(server: McpServer | null, principalId: string): SpaceServer {
  if (server === null) {
    return 'missing';
  }
  if (server.status === 'disabled') {
    return 'disabled';
  }
  if (server.connectionMode === 'personal') {
    return 'personal';
  }
  return server.credentialRef == null ? toSpec(server, principalId) : 'variable';
}
