import { LockMode } from '@mikro-orm/core';
import type { EntityManager } from '@mikro-orm/postgresql';
import { validate } from 'uuid';
import type { Context } from '#domain/foundation/access/context.ts';
import { authorize } from '#domain/foundation/access/policy.ts';
import { invalid } from '#domain/foundation/kernel/errors.ts';
import { McpServer } from '#domain/capabilities/tools/mcp-server.entity.ts';
import { toSpec } from '#domain/capabilities/tools/server-spec.ts';
import type { ToolServerSpec } from '#domain/capabilities/tools/tool-server.ts';
import { SourceFailure, type SourceFailureCode } from './source.ts';

/** The connected tool server that a scope names, or why it cannot be read by a connector. */
export type SourceServer = ToolServerSpec | ServerProblem;

export type ServerProblem = 'missing' | 'disabled' | 'personal' | 'variable';

interface ServerUse {
  serverId: string;
  spaceId: string;
  /** For whom its credential is used. */
  principalId: string;
}

const problems: Readonly<Record<ServerProblem, { code: SourceFailureCode; message: string }>> = {
  missing: { code: 'scope_invalid', message: 'The space has no tool server with this id.' },
  disabled: {
    code: 'scope_invalid',
    message: 'The tool server is disabled: enable it, or name another one.',
  },
  personal: {
    code: 'auth_failed',
    message:
      'The tool server is used with the account of each person, and a connector acts for the space: give the server a shared connection or a stored credential.',
  },
  variable: {
    code: 'auth_failed',
    message:
      'The credential of the tool server is a variable of the worker, which serves tool calls alone: give the server a stored credential.',
  },
};

/**
 * The server as it is now, in the transaction of its tenant. Each slice of a run reads it again, so that another address,
 * another credential and its end take effect.
 */
export async function readSourceServer(em: EntityManager, use: ServerUse): Promise<SourceServer> {
  return toSourceServer(await find(em, use, LockMode.NONE), use.principalId);
}

/**
 * Refuses a server that a connector could not read, and locks it against removal until the transaction ends. One of
 * another tenant or space is refused like an unknown one. Whoever names a server has it called with its credential, as a
 * tool call does.
 * @throws `missing_permission`, `invalid_request` naming `scope_config.server_id`
 */
export async function requireSourceServer(
  { caller, em }: Context,
  at: { serverId: string; spaceId: string },
): Promise<void> {
  authorize(caller, 'tools.execute');
  const server = await find(em, at, LockMode.PESSIMISTIC_READ);
  const found = toSourceServer(server, caller.principalId);
  if (typeof found === 'string') {
    throw invalid('scope_config.server_id', problems[found].message);
  }
}

/** @throws SourceFailure for a server that cannot be read */
export function usableServer(server: SourceServer): ToolServerSpec {
  if (typeof server === 'string') {
    const { code, message } = problems[server];
    throw new SourceFailure(code, message);
  }
  return server;
}

async function find(
  em: EntityManager,
  { serverId: id, spaceId }: Pick<ServerUse, 'serverId' | 'spaceId'>,
  lockMode: LockMode,
): Promise<McpServer | null> {
  return validate(id) ? em.findOne(McpServer, { id, spaceId }, { lockMode, refresh: true }) : null;
}

function toSourceServer(server: McpServer | null, principalId: string): SourceServer {
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
