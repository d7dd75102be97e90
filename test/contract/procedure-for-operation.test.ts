import type { RouteOptions } from 'fastify';
import { describe, expect, it } from 'vitest';
import { assemble } from '#api/compose.ts';
import type { Declaration } from '#api/trpc/trpc.ts';
import { gatewayConfig } from '../support/gateway.ts';
import { procedures, type Procedure } from '../support/procedures.ts';
import { routesOf } from '../support/routes.ts';

/** Operations without an equivalent procedure, and why. */
const exceptions: Record<string, string> = {
  createResponse: 'it can stream',
  getResponse: 'it can stream; responses.inspect shows the record and more',
  listResponseEvents: 'these are the events of a stream',
  getDocumentContent: 'it sends a file',
  uploadDocumentContent: 'it takes a file; documents.upload takes a text',
  openAiCreateResponse: 'it speaks the dialect of OpenAI’s clients',
  openAiRetrieveResponse: 'it speaks the dialect of OpenAI’s clients',
  openAiCancelResponse: 'it speaks the dialect of OpenAI’s clients',
  openAiDeleteResponse: 'it speaks the dialect of OpenAI’s clients',
  openAiListInputItems: 'it speaks the dialect of OpenAI’s clients',
  openAiListModels: 'it speaks the dialect of OpenAI’s clients',
  openAiRetrieveModel: 'it speaks the dialect of OpenAI’s clients',
  calculateContext: 'it is deprecated; knowledge.search searches one space',
  startLogin: 'a browser signs in',
  finishLogin: 'a browser signs in',
  createSession: 'a browser signs in',
  refreshSession: 'a refresh token opens no procedure',
  openConnectionPopup: 'a browser opens it',
  answerConnectionPopup: 'a browser opens it',
  finishConnectionPopup: 'a browser opens it',
  finishEarlierPopup: 'a browser opens it',
  endConnectionPopup: 'a browser opens it',
  showConnectPage: 'a browser opens it',
  getClientDocument: 'authorization servers fetch it',
  getEarlierClientDocument: 'authorization servers fetch it',
  refreshServer: 'it answers 202; toolServers.discover asks for the same',
  changeSpaceEmbedding: 'it answers 202; spaceEmbedding.change does the same',
  deleteConnector: 'it answers 202; connectors.delete does the same',
  requestSync: 'it answers 202; connectors.sync does the same',
  deleteTenant: 'it answers 202; tenantDeletion.request does the same',
  getDeletionCertificate: 'its token opens no procedure',
  removeMember: 'members.remove names the principal',
};

const gateway = assemble(gatewayConfig('postgres://nobody@127.0.0.1:1/none'));
const routes = await routesOf(gateway);
await gateway.close();

const idOf = ({ schema }: RouteOptions): string => schema!.operationId!;

const eventsOf = (audit: Declaration['audit'] | undefined): string =>
  audit === undefined || 'none' in audit ? '' : [...audit].sort().join();

/** Whether both need the same permission, write the same events and answer with the same record. */
function doesTheSame(
  { method, config, schema }: RouteOptions,
  { type, declared, output }: Procedure,
): boolean {
  const answers = schema!.response as Record<string, unknown>;
  return (
    type === (method === 'GET' ? 'query' : 'mutation') &&
    declared?.permission === config!.permission &&
    eventsOf(declared?.audit) === eventsOf(config!.audit) &&
    output === (answers['200'] ?? answers['201'])
  );
}

/** The operations without an equivalent among `calls`; each procedure stands for one operation. */
function withoutProcedure(calls: readonly Procedure[]): string[] {
  const left = [...calls];
  return routes.flatMap((route) => {
    const at = left.findIndex((call) => doesTheSame(route, call));
    if (at === -1) {
      return [idOf(route)];
    }
    left.splice(at, 1);
    return [];
  });
}

describe('every operation of version 1', () => {
  it('has a procedure that needs, writes and answers the same, or a reason why not', () => {
    expect(withoutProcedure(procedures()).sort()).toEqual(Object.keys(exceptions).sort());
  });

  it('is reported when its procedure is missing', () => {
    const fewer = procedures().filter(({ path }) => path !== 'skills.get');
    expect(withoutProcedure(fewer)).toContain('getSkill');
  });
});
