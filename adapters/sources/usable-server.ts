import {
  serverProblems,
  type ServerProblem,
  type SpaceServer,
} from '#domain/capabilities/tools/space-server.ts';
import type { ToolServerSpec } from '#domain/capabilities/tools/tool-server.ts';
import { SourceFailure, type SourceFailureCode } from '#domain/knowledge/connectors/source.ts';

const codes: Readonly<Record<ServerProblem, SourceFailureCode>> = {
  missing: 'scope_invalid',
  disabled: 'scope_invalid',
  personal: 'auth_failed',
  variable: 'auth_failed',
};

/** @throws SourceFailure for a tool server that cannot be read */
export function usableServer(server: SpaceServer): ToolServerSpec {
  if (typeof server === 'string') {
    throw new SourceFailure(codes[server], serverProblems[server]);
  }
  return server;
}
