import { sendOver, type Sender } from '../../support/gateway.ts';
import {
  startAuthorizationServer,
  type AuthorizationServer,
} from '../../support/authorization/authorization-server.ts';
import { startProtectedServer } from '../../support/authorization/protected-server.ts';
import { createTestDatabase } from '../../support/database.ts';
import { startModelServer } from '../../support/model-server.ts';
import { startSilentRelay, throughRelay, type SilentRelay } from '../../support/silent-relay.ts';
import { startStack, type Stack } from '../../support/stack.ts';
import { prepareTemplate } from '../../support/test-servers.ts';
import { spaceServers, type Server, type SpaceServers } from '../../support/tool-world.ts';
import { addMember, createWorld, scriptedModel, type World } from '../../support/world.ts';
import { queryOf, startOwnPostgres, temporaryFolder, type Deployment } from '../deployment.ts';
import type { Member } from './person.ts';

/** Access tokens are refreshed after half of it. */
const accessTokenSeconds = 6;
/** For which the authorization server holds an answer back: a process that dies meanwhile has lost it. */
const answerDelayMs = 150;

export const publicUrl = 'http://127.0.0.1:9';

export interface ConnectionDeployment extends Pick<Deployment, 'postgres' | 'query'> {
  stack: Stack;
  world: World;
  /** Before PostgreSQL. */
  relay: SilentRelay;
  authorization: AuthorizationServer;
  servers: SpaceServers;
  /** With an account for each person, and with one for all. */
  personal: Server;
  shared: Server;
  members: Member[];
  stop(): Promise<void>;
}

/** Two gateways and two workers, and an authorization server that revokes all tokens when one is used twice. */
export async function deployConnections(people: number): Promise<ConnectionDeployment> {
  const folder = temporaryFolder();
  const undo: (() => Promise<unknown> | void)[] = [folder.remove];
  const stop = async () => {
    for (const step of undo.toReversed()) await step();
    undo.length = 0;
  };
  try {
    const postgres = await startOwnPostgres(folder.path);
    undo.push(() => postgres.stop());
    const relay = await startSilentRelay({ port: postgres.current.port });
    undo.push(() => relay.close());
    const authorization = await startAuthorizationServer({ accessTokenSeconds });
    undo.push(() => authorization.stop());
    const tools = await startProtectedServer({ authorization });
    undo.push(() => tools.stop());
    const models = await startModelServer(
      ['personal', 'shared'].map((name) => ({
        name,
        text: 'Done.',
        calls: [[{ name: `mcp__${name}__whoami`, arguments: {} }]],
      })),
    );
    undo.push(() => models.stop());
    const database = await createTestDatabase(await prepareTemplate(postgres.current.adminUrl));
    const rows = ['personal', 'shared'].map((name) => scriptedModel(models, name));
    const world = await createWorld(database.unitOfWork, rows);
    const members: Member[] = [];
    for (let at = 0; at < people; at += 1) {
      const { apiKey, principalId } = await addMember(database.unitOfWork, world, {
        spaceRole: at === 0 ? 'space_admin' : 'space_editor',
      });
      members.push({ apiKey, principalId, account: `account-${at}` });
    }
    // From here on its server may be killed while it runs.
    await Promise.all([database.database.close(), database.orm.close(true)]);
    const stack = await startStack({
      database,
      gateways: 0,
      workers: 0,
      env: {
        DATABASE_URL: throughRelay(database.url, relay),
        DATABASE_PURGE_URL: throughRelay(database.purgeUrl, relay),
        PUBLIC_URL: publicUrl,
        EGRESS_ALLOW: [new URL(models.url).origin, authorization.issuer, tools.origin].join(','),
        MAX_POPUP_REQUESTS: '100000',
        MAX_ACTIVE_RESPONSES_PER_SPACE: '100',
      },
    });
    undo.push(() => stack.stop());
    for (const role of ['gateway', 'worker', 'gateway', 'worker'] as const) await startOne(stack, role);
    const servers = spaceServers(() => stack.gateways[0]!, world);
    const register = (slug: 'personal' | 'shared') =>
      servers.register(slug, tools.url, { connection_mode: slug });
    const [personal, shared] = [await register('personal'), await register('shared')];
    authorization.tokenAnswerDelayMs = answerDelayMs;
    const query = queryOf(database.adminUrl);
    return { postgres, relay, authorization, stack, world, servers, personal, shared, members, query, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const startAttempts = 4;

/** One after the other, and again when the machine was too busy. */
async function startOne(stack: Stack, role: 'gateway' | 'worker'): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const launched = await stack.launch(role);
    try {
      await launched.ready;
      return;
    } catch (error) {
      await launched.kill();
      const list = role === 'gateway' ? stack.gateways : stack.workers;
      list.splice(list.indexOf(launched), 1);
      if (attempt === startAttempts) throw error;
    }
  }
}

/** Calls of one gateway; a process that ends meanwhile answers nothing. */
export const over = (url: string): Sender => sendOver(() => ({ url }));
