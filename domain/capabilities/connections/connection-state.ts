import type { FieldWork } from '#domain/foundation/secrets/field-place.ts';
import type { ConnectionKey } from './find-connection.ts';
import type { UsableConnection } from './connection-source.ts';
import { openTokens, type ConnectionTokens } from './connection-tokens.ts';
import type { Connection } from './connection.entity.ts';
import { findConnection } from './find-connection.ts';

/** A connection with its tokens, as one transaction has read it. */
export interface OpenedConnection {
  connection: Connection;
  tokens: ConnectionTokens;
}

/** Null: there is none, it was withdrawn, or its tokens were erased. */
export async function openConnection(work: FieldWork, key: ConnectionKey): Promise<OpenedConnection | null> {
  const connection = await findConnection(work.em, key);
  const tokens = connection === null ? null : await openTokens(work, connection);
  return connection === null || tokens === null ? null : { connection, tokens };
}

/** `scope_required` still serves the calls that need no more than what was granted. */
export function isUsable({ status }: Connection): boolean {
  return status === 'connected' || status === 'scope_required';
}

export function toUsable({ connection, tokens }: OpenedConnection): UsableConnection {
  const { accessToken, tokenType, dpopKey } = tokens;
  return {
    connectionId: connection.id,
    generation: connection.generation,
    accessToken,
    tokenType,
    dpopKey,
  };
}
