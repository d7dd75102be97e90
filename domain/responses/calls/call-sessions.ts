import { openField } from '#domain/foundation/secrets/open-fields.ts';
import { sealField } from '#domain/foundation/secrets/seal-field.ts';
import type { FieldWork } from '#domain/foundation/secrets/field-place.ts';
import { databaseNow } from '#domain/foundation/persistence/database-now.ts';
import { McpServer } from '#domain/capabilities/tools/mcp-server.entity.ts';
import { toSpec } from '#domain/capabilities/tools/server-spec.ts';
import type { ToolServerSpec } from '#domain/capabilities/tools/tool-server.ts';
import type { CallKey } from '#domain/responses/record/turn-key.ts';
import { Response } from '#domain/responses/record/response.entity.ts';
import { ToolCall } from '#domain/responses/record/tool-call.entity.ts';

type SessionKey = Pick<CallKey, 'tenantId' | 'responseId'>;

const placeOf = (call: Pick<CallKey, 'tenantId' | 'responseId' | 'iteration' | 'callIndex'>) => ({
  tenantId: call.tenantId,
  table: 'tool_calls',
  column: 'session',
  row: `${call.responseId}/${call.iteration}/${call.callIndex}`,
});

/** The last session that a call of the response opened at the server. */
export async function readCallSession(
  work: FieldWork,
  { responseId }: SessionKey,
  serverLabel: string,
): Promise<string | null> {
  const call = await work.em.findOne(
    ToolCall,
    { responseId, serverLabel, session: { $ne: null } },
    { orderBy: { sessionAt: 'desc' } },
  );
  return call?.session == null ? null : openField(work, placeOf(call), call.session);
}

export async function saveCallSession(work: FieldWork, key: CallKey, session: string): Promise<void> {
  const { responseId, iteration, callIndex } = key;
  await work.em.nativeUpdate(
    ToolCall,
    { responseId, iteration, callIndex },
    {
      session: await sealField(work, placeOf(key), session),
      sessionAt: await databaseNow(work.em),
    },
  );
}

export interface EndingSession {
  server: ToolServerSpec;
  session: string;
}

/**
 * Removes and returns the sessions of a response that has ended and has no running call; each is returned once. A
 * server has several sessions if calls ran on several workers at once, or if the server lost one.
 */
export async function removeCallSessions(work: FieldWork, key: SessionKey): Promise<EndingSession[]> {
  const { em } = work;
  const { responseId } = key;
  const calls = await em.find(ToolCall, { responseId, session: { $ne: null } });
  const response = calls.length === 0 ? null : await em.findOne(Response, { id: responseId });
  if (response === null || (await em.count(ToolCall, { responseId, status: 'started' })) > 0) {
    return [];
  }
  const ending: EndingSession[] = [];
  for (const call of calls) {
    const server = await em.findOne(McpServer, { spaceId: response.spaceId, slug: call.serverLabel ?? '' });
    const session = call.session == null ? null : await openField(work, placeOf(call), call.session);
    if (server !== null && session !== null) {
      ending.push({ server: toSpec(server, response.principalId), session });
    }
  }
  await em.nativeUpdate(ToolCall, { responseId }, { session: null, sessionAt: null });
  return ending;
}
